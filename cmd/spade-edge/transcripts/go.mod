module github.com/spade-dfl/spade-edge/cmd/spade-edge/transcripts

go 1.25

require (
	github.com/rogpeppe/go-internal v1.14.1
	github.com/spade-dfl/spade-edge v0.1.0
)

require (
	github.com/fxamacker/cbor/v2 v2.9.6 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	golang.org/x/sys v0.26.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
	nhooyr.io/websocket v1.8.17 // indirect
)
