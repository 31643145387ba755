package fleetfile

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/transport/ws"
)

// Node is what a node file says. Paths in it are as the process can open them: those of the file, which start from its folder,
// with that folder before them.
type Node struct {
	Name   string // the member that this node is
	Fleet  string // path of the fleet file
	Key    string // path of the secret key
	Listen string // host:port; empty if nobody dials this node
	State  string // path of the folder of the node's state
	Ledger string // path of the lifetime ledger of its data set; empty in a run that is not private
	Oracle Oracle
	HTTP   string // host:port on loopback; empty for none
	NATS   *NATS  // the broker in place of connections with the neighbors; nil for websockets

	SeededTable bool          // "table": "seeded", see [sdk.Config]
	Average     bool          // keep the running mean of the released models
	Linger      time.Duration // "linger_seconds", see [sdk.Config]; 0 if it is not given
	ResendAfter time.Duration // "resend_seconds", see [sdk.Config]; 0 if it is not given
}

// NATS is the broker through which a node reaches its neighbors, see package transport/nats. That is a module of its own, with a
// program of its own; nothing here connects to it.
type NATS struct {
	URL         string // "tls://host:port" or "nats://host:port"
	Credentials string // path of the file by which the broker knows the node; empty if it asks for none
}

// ReadNode reads a node file of at most 16 MiB, and reports every fault of it at once. It opens none of the files that it
// names.
func ReadNode(path string) (*Node, error) {
	data, err := readLimited(path, maxFile, "a node file")
	if err != nil {
		return nil, err
	}
	return parseNode(data, path, filepath.Dir(path))
}

// ParseNode is [ReadNode] for the content of a node file. dir is the folder from which its paths start.
func ParseNode(data []byte, dir string) (*Node, error) { return parseNode(data, "", dir) }

func parseNode(data []byte, name, dir string) (*Node, error) {
	r := &reader{name: name}
	doc := r.document(data)
	if r.errs != nil {
		return nil, r.err()
	}
	o, ok := doc.object("a node file, an object")
	if !ok || !o.version() {
		return nil, r.err()
	}
	n := &Node{
		Name:        o.need("name").name(""),
		Fleet:       o.need("fleet").file(dir),
		Key:         o.need("key").file(dir),
		Listen:      o.may("listen").hostPort("host:port", anyHost),
		State:       o.need("state").file(dir),
		Ledger:      o.may("ledger").file(dir),
		Oracle:      o.need("oracle").oracle(dir),
		HTTP:        o.may("http").hostPort("host:port on loopback, such as 127.0.0.1:0: whoever reaches it need not say who they are", isLoopback),
		SeededTable: o.may("table").choice("dense", "seeded") == "seeded",
		Average:     o.may("average").boolean(),
		Linger:      o.may("linger_seconds").seconds(),
		ResendAfter: o.may("resend_seconds").seconds(),
		NATS:        o.may("transport").nats(dir),
	}
	if n.NATS != nil && n.Listen != "" {
		r.fault("listen is %q, want it left out: nobody dials a node whose transport is nats", n.Listen)
	}
	o.close()
	if err := r.err(); err != nil {
		return nil, err
	}
	return n, nil
}

// Load reads the fleet file and the key of the node, and checks that the three belong together. The transport's
// configuration is ready for [ws.New]; with NATS nobody needs an address, and it has what that transport needs to know beside the
// broker: Name, Key, Peers, MaxFrame, Hello and CheckHello. All faults are reported at once.
func (n *Node) Load() (*File, ws.Config, error) {
	file, errFleet := read(n.Fleet, n.NATS == nil)
	key, errKey := ReadKey(n.Key)
	if err := errors.Join(errFleet, errKey); err != nil {
		return nil, ws.Config{}, err
	}
	cfg, err := file.transport(n.Name, key)
	if n.NATS == nil && err == nil {
		cfg, err = file.Transport(n.Name, key, n.Listen)
	}
	errs := []error{err}
	switch private := !file.Fleet.Privacy.NonPrivate; {
	case private && n.Ledger == "":
		errs = append(errs, errors.New("fleetfile: ledger is missing, want the lifetime ledger of this node's data set, since the fleet is private; "+
			"create one with: spade-edge privacy -new-ledger FILE -dataset NAME"))
	case !private && n.Ledger != "":
		errs = append(errs, fmt.Errorf("fleetfile: ledger is %q, want it left out: the fleet is not private, and no ledger could say what it spends", n.Ledger))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, ws.Config{}, err
	}
	return file, cfg, nil
}

// Heads returns where the node keeps, beside its ledger, what its neighbors have signed of theirs, see [state.OpenHeads]; empty without a
// ledger.
func (n *Node) Heads() string {
	if n.Ledger == "" {
		return ""
	}
	return n.Ledger + ".neighbors"
}

// nats reads a transport; nil if it is not there.
func (v value) nats(dir string) *NATS {
	o, ok := v.object(`{"nats": "tls://host:port"}`)
	if !ok {
		return nil
	}
	defer o.close()
	n := &NATS{Credentials: o.may("credentials").file(dir)}
	address := o.need("nats")
	if n.URL, ok = address.text("", func(string) bool { return true }); ok {
		if err := CheckBroker(n.URL); err != nil {
			v.r.fault("%s %w", address.at(), err)
		}
	}
	return n
}

// CheckBroker says what is wrong with the address of a broker, and leaves the address out, which may have a password in it.
func CheckBroker(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "tls" && u.Scheme != "nats" || u.Hostname() == "" || u.RawQuery+u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return errors.New("is not of the form tls://host:port or nats://host:port")
	case u.User != nil:
		return errors.New("has a user in it, want that in the file that credentials names")
	}
	return nil
}

// file reads the path of a file or folder that starts from dir; empty if it is not there.
func (v value) file(dir string) string {
	s, _ := v.text("a path", func(s string) bool { return s != "" && !strings.ContainsRune(s, 0) })
	return resolve(dir, s)
}

// resolve returns a path as the process can open it.
func resolve(dir, path string) string {
	path = filepath.FromSlash(path)
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// hostPort reads a TCP address whose host is good; empty if it is not there.
func (v value) hostPort(want string, good func(host string) bool) string {
	s, _ := v.text(want, func(s string) bool {
		host, port, err := net.SplitHostPort(s)
		if err != nil || !good(host) {
			return false
		}
		_, err = strconv.ParseUint(port, 10, 16)
		return err == nil
	})
	return s
}

func anyHost(string) bool { return true }

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// seconds reads a duration; 0 if it is not there.
func (v value) seconds() time.Duration {
	const most = 7 * 24 * 60 * 60
	s, _ := v.number(fmt.Sprintf("a number of seconds, 0.001..%d", most), func(s float64) bool { return s >= 0.001 && s <= most })
	return time.Duration(s * float64(time.Second))
}
