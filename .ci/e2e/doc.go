// Package e2e tests a node's page in a real browser, and parses a node's metrics with Prometheus' own parser. It is a
// separate module, so that the project depends on neither. audit.js has the checks of a page. TestPageMatrix runs them
// for one and eight nodes, built-in models and programs, nodes that wait, learn or are done, private and not, on a
// phone and a desktop, in light and dark mode.
//
// The browser tests need Chromium ("apt-get install -y --no-install-recommends chromium fonts-dejavu-core") and are
// skipped without it. To use a browser other than the "chromium" in the path, set SPADE_EDGE_CHROMIUM to its program.
// To keep the screenshots, set SPADE_EDGE_SHOTS to a folder.
package e2e
