module github.com/spade-dfl/spade-edge

go 1.25
