const pageData = JSON.parse(document.getElementById('data').textContent);
if (pageData.runs) window.ppsim = new Page(document.getElementById('page'), pageData);
