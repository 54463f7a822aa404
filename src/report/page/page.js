/* page.js: begins. A page that stands alone has its data in itself. */
"use strict";

ak.start = function () {
    const data = document.getElementById("data"), main = document.getElementById("page");
    ak.watch_theme();
    if (data === null) {
        return; /* a server's page: live.js asks for its data */
    }
    const page = ak.parse(data.textContent);
    ak.draw_page[page.kind](main, page);
    ak.draw_visible();
    ak.draw_idly(() => { document.documentElement.dataset.drawn = "yes"; });
};

ak.start();
