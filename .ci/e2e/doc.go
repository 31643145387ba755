// Package e2e tests a node's page in a real browser, and parses a node's metrics with Prometheus' own parser. It is a
// separate module, so that the project does not depend on packages for the browser or for Prometheus. The checks of a
// page are in audit.js. TestPageMatrix runs them on pages with one node and with eight, for each combination of phase
// (waiting, training, done), oracle (built-in model, external program) and privacy (on, off). It checks each page on a
// phone and on a desktop, in light and dark mode.
//
// The browser tests need Chromium ("apt-get install -y --no-install-recommends chromium fonts-dejavu-core") and are
// skipped without it. By default they run "chromium" from PATH; SPADE_EDGE_CHROMIUM can be set to the path of another
// browser. To keep the screenshots, set SPADE_EDGE_SHOTS to a folder.
package e2e
