package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/program"
	"github.com/spade-dfl/spade-edge/sdk/broker"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport/broker/mqtt"
)

// overMQTT is the program spade-edge with MQTT as the transport.
var overMQTT = program.Program{
	Name: "spade-edge-mqtt",
	Accept: func(node *fleetfile.Node) error {
		at, _ := node.Transport.(*broker.MQTT)
		if at == nil {
			return errors.New(`transport.mqtt is missing, want {"mqtt": "tls://host:port"}; to run a node over ` +
				`websockets, use spade-edge`)
		}
		_, err := at.Config()
		if at.User != "" {
			if _, _, wrong := fleetfile.ReadUser(at.User, "broker user file"); wrong != nil {
				err = errors.Join(err, fmt.Errorf("transport.user_file: %w", wrong))
			}
		}
		return err
	},
	Open: func(d *device.Device, log *slog.Logger) (device.Link, error) {
		cfg := config(d)
		cfg.Logger = log
		publish, read := mqtt.Topics(cfg.Run, cfg.Name)
		log.Info("meeting", "broker", cfg.URL, "client id", mqtt.ClientID(cfg.Run, cfg.Name), "publishing on", publish,
			"reading", read)
		return mqtt.New(cfg)
	},
	Ask: ask,
}

func main() { overMQTT.Main() }

// config returns the configuration of a node's transport. The transport reads the password and certificate files anew
// for each connection.
func config(d *device.Device) mqtt.Config {
	f, name, at := d.Fleet.Fleet, d.File.Name, d.File.Transport.(*broker.MQTT)
	cfg := mqtt.Config{
		Name: name, Key: d.Key, Peers: d.Fleet.Peers(name), Run: f.Run, Fleet: f.Hash(), URL: at.URL, Proxy: d.Proxy,
		TLS: at.Config, MaxFrame: wire.MaxFrame(f.Dim), Hello: f.Hello(name), CheckHello: f.CheckHello(name),
	}
	if at.User != "" {
		cfg.Login = func() (user, password string, err error) { return fleetfile.ReadUser(at.User, "broker user file") }
	}
	return cfg
}

func ask(ctx context.Context, d *device.Device, patience time.Duration, _ bool) []program.Answer {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cfg := config(d)
	a, err := mqtt.Probe(ctx, cfg)
	if err != nil {
		return []program.Answer{{Who: "broker", Err: err, Code: 64}}
	}
	through := ""
	if a.Proxy != "" {
		through = " through the proxy " + a.Proxy
	}
	met := program.Answer{Who: "broker", Err: a.Err}
	switch {
	case a.Refused:
		met.Code = 1
	case a.Err != nil:
		met.Err = fmt.Errorf("not reachable (yet): %s%s: %w", cfg.URL, through, a.Err)
	default:
		messages := "1 message"
		if a.Pieces > 1 {
			messages = fmt.Sprint(a.Pieces, " messages")
		}
		met.Text = fmt.Sprintf("lets this node connect, publish and read at %s%s, in %v; a frame of at most %d bytes goes in %s; "+
			"the broker accepts messages of up to %d bytes", cfg.URL, through, a.Took.Round(100*time.Microsecond), cfg.MaxFrame, messages, a.Packet)
	}
	user := program.Answer{Who: "this node", Text: "has the client id " + mqtt.ClientID(cfg.Run, cfg.Name) + ", which an access " +
		"list may use as its user name"}
	return []program.Answer{user, met}
}
