package ws

import "nhooyr.io/websocket"

// inBrowser makes [New] and [Probe] fail: in a browser the websocket library cannot use a TLS connection of this package.
const inBrowser = true

func dialOptions(*conn) *websocket.DialOptions { return nil }
