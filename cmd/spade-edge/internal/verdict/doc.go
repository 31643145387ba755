// Package verdict decides, at the end of a run, whether the shared model is any good at a site. It compares the shared
// model on rows that the site holds out with a model of the site's own rows alone and with the most frequent answer,
// and looks back at the shared model as it was earlier in the run. A verdict comes directly from the site's data: it
// stays in private files of the state folder, and nothing that is sent depends on it.
package verdict
