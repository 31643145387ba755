// Package e2e tests a node's page in a real browser, and parses a node's metrics with Prometheus' own parser. It is a
// separate module, so that the project does not depend on packages for the browser or for Prometheus. audit.js has the
// checks of a page. TestPageMatrix performs these checks for one node and eight, with built-in models and external
// programs, with nodes that wait, train or are done, private and not, on a phone and on a desktop, in light and dark
// mode.
//
// The browser tests need Chromium ("apt-get install -y --no-install-recommends chromium fonts-dejavu-core") and are
// skipped without it. By default they run "chromium" from PATH; SPADE_EDGE_CHROMIUM can be set to the path of another
// browser. To keep the screenshots, set SPADE_EDGE_SHOTS to a folder.
package e2e
