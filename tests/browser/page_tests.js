// All tests that need a browser, with one browser.

const {after, before} = require('node:test');

const {start, stop} = require('./browser.js');

before(start);
after(stop);
require('./looking_test.js');
