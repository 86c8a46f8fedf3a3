// Admit a browser: keep the data's path in the storage of this origin, port included, and remove the link
// from the address bar.
localStorage.setItem("irdaemon", document.body.dataset.path);
location.replace("/now");
