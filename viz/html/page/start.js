if (document.getElementById('data')) startPage();
