// Package e2e looks at the page of a node with a real browser, and reads its metrics with Prometheus' own parser. It is
// a module of its own, so that neither is a dependency of anything else. audit.js says what a page must be: in
// TestPageMatrix for one and eight nodes, built-in models and programs, waiting, learning and done, private and not, on
// a telephone and a desk, by day and by night.
//
// The browser tests need Chromium ("apt-get install -y --no-install-recommends chromium fonts-dejavu-core") and are
// skipped without. SPADE_EDGE_CHROMIUM names another program than the "chromium" in the path; with SPADE_EDGE_SHOTS the
// screenshots are kept in that folder.
package e2e
