// Package e2e tests a node's page with a real browser, and parses its metrics with Prometheus' own parser. It is a
// separate module, so that neither is a dependency of the project. audit.js has the checks of a page. TestPageMatrix
// applies it for one and eight nodes, built-in models and programs, waiting, learning and done, private and not, on a
// phone and a desktop, in light and dark mode.
//
// The browser tests need Chromium ("apt-get install -y --no-install-recommends chromium fonts-dejavu-core") and are
// skipped without it. SPADE_EDGE_CHROMIUM names a program other than the "chromium" in the path; SPADE_EDGE_SHOTS is a
// folder in which to keep the screenshots.
package e2e
