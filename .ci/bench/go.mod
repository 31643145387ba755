module github.com/spade-dfl/spade-edge/ci/bench

go 1.25

require (
	github.com/spade-dfl/spade-edge v0.1.0
	github.com/viterin/vek v0.4.3
	gonum.org/v1/gonum v0.17.0
)

require (
	github.com/chewxy/math32 v1.10.1 // indirect
	github.com/fxamacker/cbor/v2 v2.9.6 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/viterin/partial v1.1.0 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	golang.org/x/exp v0.0.0-20230817173708-d852ddb80c63 // indirect
	golang.org/x/sys v0.11.0 // indirect
	nhooyr.io/websocket v1.8.17 // indirect
)
