/* page.js: draws the page when all other scripts are loaded. A page in a file of its own contains
   its data. */
"use strict";

ak.start = function () {
    const data = document.getElementById("data"), main = document.getElementById("page");
    ak.watch_theme();
    if (data === null) {
        return; /* the page comes from a server: live.js fetches its data */
    }
    const page = ak.parse(data.textContent);
    ak.draw_page[page.kind](main, page);
    ak.draw_visible();
    ak.draw_idly(() => { document.documentElement.dataset.drawn = "yes"; });
};

ak.start();
