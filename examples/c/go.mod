module github.com/spade-dfl/spade-edge/examples/c

go 1.25

require github.com/spade-dfl/spade-edge v0.1.0

require (
	github.com/fxamacker/cbor/v2 v2.9.6 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	nhooyr.io/websocket v1.8.17 // indirect
)
