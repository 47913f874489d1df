// All tests that need a browser, with one browser.

const {after, before} = require('node:test');

const {start, stop} = require('./browser.js');

before(start);
after(stop);
require('./navigation_test.js');
require('./page_test.js');
require('./several_test.js');
require('./pictures_test.js');
require('./playground_test.js');
require('./speed_test.js');
