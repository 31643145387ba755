package fleetfile

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Node is the content of a node file. Its paths are ready to be opened: relative paths in the file start from its
// folder, which is put before them.
type Node struct {
	Name   string // the member that this node is
	Fleet  string // path of the fleet file
	Key    string // path of the secret key
	Listen string // host:port; empty if this node only dials out
	State  string // path of the folder of the node's state
	Ledger string // path of the lifetime ledger of its data set; empty in a run that is not private
	Oracle Oracle
	HTTP   string // host:port on loopback; empty for none
	// Metrics is where a collector of metrics on another machine finds them; nil for nowhere.
	Metrics *Metrics
	NATS    *NATS  // the broker in place of connections with the neighbors; nil for websockets
	Proxy   *Proxy // through which the node dials; nil for that of the environment

	// FleetText, if not nil, is the content of the fleet file; Fleet then says only in which folder its start vector is. A
	// node file cannot have it: it is for programs that were given the text.
	FleetText []byte

	SeededTable bool          // "table": "seeded", see [sdk.Config]
	MemoryLimit int64         // "memory_limit", in bytes, see [sdk.Config]; 0 if it is not given
	Forget      bool          // "memory": "forgotten", see ForgetMemory of [sdk.Config]
	Average     bool          // keep the running mean of the released models
	Linger      time.Duration // "linger_seconds", see [sdk.Config]; 0 if it is not given
	ResendAfter time.Duration // "resend_seconds", see [sdk.Config]; 0 if it is not given
	Patience    time.Duration // "patience", such as "15m", see [sdk.Config]; 0 if it is not given
}

// ReadNode reads a node file of at most 16 MiB, and reports every fault of it at once. It opens none of the files that
// it names.
func ReadNode(path string) (*Node, error) {
	data, err := ReadFile(path, maxFile, "a node file")
	if err != nil {
		return nil, err
	}
	return parseNode(data, path, filepath.Dir(path))
}

// ParseNode is [ReadNode] for the content of a node file. dir is the folder from which its paths start.
func ParseNode(data []byte, dir string) (*Node, error) { return parseNode(data, "", dir) }

func parseNode(data []byte, name, dir string) (*Node, error) {
	n := &Node{}
	err := (&codec{name: name}).read(data, func(v *value) {
		v.object("a node file, an object", func(o *object) {
			if !o.version() {
				return
			}
			o.need("name").name(&n.Name)
			o.need("fleet").path(&n.Fleet, dir)
			o.need("key").path(&n.Key, dir)
			o.may("listen").hostPort(&n.Listen, "host:port", anything[string])
			o.need("state").path(&n.State, dir)
			o.may("ledger").path(&n.Ledger, dir)
			o.need("oracle").oracle(&n.Oracle, dir)
			const loopback = "host:port on loopback, such as 127.0.0.1:0: whoever reaches it need not say who they are"
			o.may("http").hostPort(&n.HTTP, loopback, func(host string) bool {
				return host == "localhost" || net.ParseIP(host).IsLoopback()
			})
			o.may("metrics").object(`{"listen": "host:port", "token_file": "..."}`, func(o *object) { n.Metrics = o.metrics(dir) })
			table := ""
			o.may("table").choice(&table, "dense", "seeded")
			n.SeededTable = table == "seeded"
			limit, memory := 0, ""
			o.may("memory_limit").integer(&limit, 1, math.MaxInt)
			n.MemoryLimit = int64(limit)
			o.may("memory").choice(&memory, "kept", "forgotten")
			n.Forget = memory == "forgotten"
			o.may("average").boolean(&n.Average)
			o.may("linger_seconds").seconds(&n.Linger)
			o.may("resend_seconds").seconds(&n.ResendAfter)
			o.may("patience").duration(&n.Patience, 2*time.Minute)
			o.may("transport").object(`{"nats": "tls://host:port"}`, func(o *object) { n.NATS = o.broker(dir) })
			o.proxy(n, dir)
			if n.NATS != nil && n.Listen != "" {
				o.c.fault("listen is %q, want it left out: nobody dials a node whose transport is nats", n.Listen)
			}
		})
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// ErrNoLedger is what [errors.Is] finds in an error of [Node.Load] that says: the fleet is private, and the node file
// names no ledger.
var ErrNoLedger = errors.New("fleetfile: ledger is missing, want the lifetime ledger of this node's data set, " +
	"since the fleet is private")

// Load reads the fleet file and the key of the node, and checks that the three belong together. All faults are reported
// at once.
func (n *Node) Load() (*File, ed25519.PrivateKey, error) {
	file, errFleet := n.fleet()
	key, errKey := ReadKey(n.Key)
	if err := errors.Join(errFleet, errKey); err != nil {
		return nil, nil, err
	}
	errs := []error{n.CheckIdentity(file, key)}
	switch private := !file.Fleet.Privacy.NonPrivate; {
	case private && n.Ledger == "":
		errs = append(errs, ErrNoLedger)
	case !private && n.Ledger != "":
		errs = append(errs, fmt.Errorf("fleetfile: ledger is %q, want it left out: "+
			"the fleet is not private, and no ledger could say what it spends", n.Ledger))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	return file, key, nil
}

// fleet reads the fleet file.
func (n *Node) fleet() (*File, error) {
	if n.FleetText == nil {
		return read(n.Fleet, n.NATS == nil)
	}
	return parse(n.FleetText, "", folder(filepath.Dir(n.Fleet)), n.NATS == nil)
}

// Certificate returns where the node keeps its certificate.
func (n *Node) Certificate() string { return filepath.Join(n.State, "certificate.json") }

// Heads returns the file beside the ledger for the signed heads of the neighbors' ledgers, see [state.OpenHeads]; empty
// without a ledger.
func (n *Node) Heads() string {
	if n.Ledger == "" {
		return ""
	}
	return n.Ledger + ".neighbors"
}

// path is the path of a file or folder that starts from dir.
func (v *value) path(to *string, dir string) {
	v.text(to, "a path", func(s string) bool { return s != "" && !strings.ContainsRune(s, 0) })
	*to = resolve(dir, *to)
}

// resolve returns a path as the process can open it.
func resolve(dir, path string) string {
	path = filepath.FromSlash(path)
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// hostPort is a TCP address whose host is good.
func (v *value) hostPort(to *string, want string, good func(host string) bool) {
	v.text(to, want, func(s string) bool {
		host, port, err := net.SplitHostPort(s)
		if err != nil || !good(host) {
			return false
		}
		_, err = strconv.ParseUint(port, 10, 16)
		return err == nil
	})
}

// seconds is a duration.
func (v *value) seconds(to *time.Duration) {
	const most = 7 * 24 * 60 * 60
	var s float64
	v.number(&s, fmt.Sprintf("a number of seconds, 0.001..%d", most), within(0.001, most))
	*to = time.Duration(s * float64(time.Second))
}

// duration is a duration as Go writes it, of at least so much.
func (v *value) duration(to *time.Duration, least time.Duration) {
	var s string
	v.text(&s, fmt.Sprintf("a duration of at least %v, such as \"15m\"", least), func(s string) bool {
		d, err := time.ParseDuration(s)
		*to = d
		return err == nil && d >= least
	})
}
