"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  document.getElementById("app").textContent = data.title;
})();
