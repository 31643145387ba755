module github.com/spade-dfl/spade-edge

go 1.25

toolchain go1.26.8

require (
	github.com/fxamacker/cbor/v2 v2.9.6
	github.com/klauspost/compress v1.20.3
	nhooyr.io/websocket v1.8.17
)

require github.com/x448/float16 v0.8.4 // indirect
