module github.com/spade-dfl/spade-edge/examples/paper

go 1.25

require github.com/spade-dfl/spade-edge v0.0.0

replace github.com/spade-dfl/spade-edge => ../..
