//go:build pprof

package program

import (
	"net/http"
	"net/http/pprof"
)

// With the build tag pprof the page's server has profiles too, for whoever is let in there.
func init() {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	profiles = mux
}
