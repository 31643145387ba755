package fleetfile

import (
	"cmp"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
)

// Node is the content of a node file. Its paths are ready to open: relative paths have been joined to the folder of the
// node file.
type Node struct {
	Name   string `json:"name"`   // the member that this node runs
	Fleet  string `json:"fleet"`  // path of the fleet file
	Key    string `json:"key"`    // path of the secret key
	Listen string `json:"listen"` // host:port; empty if this node only dials out
	// PairKeys is the path of the file with this device's one-time keys of pairwise noise; by default pairs.key in the
	// folder of Key. The node writes to the file.
	PairKeys string `json:"pair_keys"`
	State    string `json:"state"`  // path of the node's state folder
	Ledger   string `json:"ledger"` // path of the lifetime ledger of the data set; empty in a run that is not private
	Oracle   Oracle `json:"-"`      // an oracle of a registered kind, see [RegisterOracle]
	HTTP     string `json:"http"`   // host:port on loopback of the node's page; empty for no page
	// Metrics configures metrics for a collector on another machine; nil for none.
	Metrics   *Metrics `json:"metrics"`
	Transport any      `json:"-"` // a transport of a registered kind, see [RegisterTransport]; nil for websockets
	// Proxy is the URL, http://host:port or https://host:port, of the proxy through which the node dials; if it is
	// empty, environment variables determine the proxy. ProxyCredentials is the path of a file with user:password for
	// the proxy; empty for none.
	Proxy            string `json:"proxy"`
	ProxyCredentials string `json:"proxy_credentials"`

	// FleetText, if not nil, is the content of the fleet file; Fleet then only determines the folder of the start
	// vector. A program that already has this text can set FleetText, which is not a field of node files.
	FleetText []byte `json:"-"`

	MemoryLimit int64         `json:"-"` // value of "memory_limit", in bytes, see [sdk.Config]; 0 if unset
	Linger      time.Duration `json:"-"` // value of "linger_seconds", see [sdk.Config]; 0 if unset
	ResendAfter time.Duration `json:"-"` // value of "resend_seconds", see [sdk.Config]; 0 if unset
	Patience    time.Duration `json:"-"` // value of "patience", such as "15m", see [sdk.Config]; 0 if unset

	// SilentAfter is the value of "silent_after", such as "3h": with a broker, the time after which the status shows a
	// neighbor from which nothing arrives as silent; 0 if unset.
	SilentAfter time.Duration `json:"-"`
}

// PairKeysName is the default name of the file with one-time keys.
const PairKeysName = "pairs.key"

// nodeForm is the JSON form of a node file. It replaces the fields of [Node] that have a different type in the file.
type nodeForm struct {
	Version int `json:"version"`
	Node
	Oracle      json.RawMessage `json:"oracle"`
	Transport   json.RawMessage `json:"transport"`
	MemoryLimit *int64          `json:"memory_limit"`
	Linger      *float64        `json:"linger_seconds"`
	ResendAfter *float64        `json:"resend_seconds"`
	Patience    *string         `json:"patience"`
	SilentAfter *string         `json:"silent_after"`
}

// ReadNode reads a node file of at most 16 MiB. It does not open the files that the node file names.
func ReadNode(path string) (*Node, error) {
	data, err := ReadFile(path, MaxFile, "a node file")
	if err != nil {
		return nil, err
	}
	return parseNode(data, path, filepath.Dir(path))
}

// ParseNode parses the content of a node file; see [ReadNode]. dir is the folder for relative paths.
func ParseNode(data []byte, dir string) (*Node, error) { return parseNode(data, "", dir) }

func parseNode(data []byte, name, dir string) (*Node, error) {
	var form nodeForm
	if err := decodeOwn(data, &form); err != nil {
		return nil, In(name, err)
	}
	n := &form.Node
	var errs faults
	errs.when(n.Name == "" || len(n.Name) > wire.MaxName, "name is %.80q, want a name of 1..%d bytes", n.Name, wire.MaxName)
	for _, path := range []struct{ field, path string }{{"fleet", n.Fleet}, {"key", n.Key}, {"state", n.State}} {
		errs.when(path.path == "", "%s is missing, want a path", path.field)
		errs.when(strings.ContainsRune(path.path, 0), "%s is %q, want a path", path.field, path.path)
	}
	n.PairKeys = cmp.Or(n.PairKeys, filepath.Join(filepath.Dir(n.Key), PairKeysName))
	for _, path := range []*string{&n.Fleet, &n.Key, &n.PairKeys, &n.State, &n.Ledger, &n.ProxyCredentials} {
		*path = Resolve(dir, *path)
	}
	var err error
	errs.when(form.Oracle == nil, "oracle is missing, want an object with one of %s", oracles.names())
	if form.Oracle != nil {
		n.Oracle, err = oracles.read("oracle", form.Oracle, dir)
		errs = append(errs, Each(err)...)
	}
	if form.Transport != nil {
		n.Transport, err = transports.read("transport", form.Transport, dir)
		errs = append(errs, Each(err)...)
		errs.when(n.Listen != "", "listen is %q, want the field omitted: only nodes with websockets are dialed", n.Listen)
	}
	errs.when(n.Listen != "" && !hostPort(n.Listen), "listen is %q, want host:port", n.Listen)
	errs.when(n.HTTP != "" && !(hostPort(n.HTTP) && loopback(n.HTTP)), "http is %q, want host:port on loopback, such as "+
		"127.0.0.1:0: it serves without authentication", n.HTTP)
	if n.Metrics != nil {
		errs = append(errs, n.Metrics.validate(dir)...)
	}
	if n.Proxy != "" {
		_, err = parseProxy(n.Proxy)
		errs.when(err != nil, "proxy %w", err)
	}
	errs.when(n.Proxy == "" && n.ProxyCredentials != "", "proxy_credentials is %q, want the field omitted: there is "+
		"no proxy", n.ProxyCredentials)
	if limit := form.MemoryLimit; limit != nil {
		errs.when(*limit < 1, "memory_limit is %d, want 1 byte or more", *limit)
		n.MemoryLimit = *limit
	}
	n.Patience = atLeast(2*time.Minute, form.Patience, "patience", &errs)
	n.SilentAfter = atLeast(time.Minute, form.SilentAfter, "silent_after", &errs)
	errs.when(form.SilentAfter != nil && form.Transport == nil, "silent_after is %q, want the field omitted: without a broker, "+
		"connections show whether a neighbor is there", *cmp.Or(form.SilentAfter, new(string)))
	n.Linger = seconds(form.Linger, "linger_seconds", &errs)
	n.ResendAfter = seconds(form.ResendAfter, "resend_seconds", &errs)
	if len(errs) > 0 {
		return nil, In(name, errors.Join(errs...))
	}
	return n, nil
}

// Load reads the fleet file and the key of the node and checks that both match the node file.
func (n *Node) Load() (*File, ed25519.PrivateKey, error) {
	var file *File
	var errFleet error
	if n.FleetText != nil {
		file, errFleet = Parse(n.FleetText, filepath.Dir(n.Fleet))
	} else {
		file, errFleet = Read(n.Fleet)
	}
	key, errKey := n.KeyIn(file)
	if err := errors.Join(errFleet, errKey); err != nil {
		return nil, nil, err
	}
	return file, key, nil
}

// KeyIn reads the key of the node and checks that the key and the node file match the given fleet file. A nil file matches
// every node.
func (n *Node) KeyIn(file *File) (ed25519.PrivateKey, error) {
	key, err := secret.ReadKey(n.Key)
	if err != nil || file == nil {
		return key, err
	}
	errs := []error{n.CheckIdentity(file, key)}
	switch private := !file.Fleet.Privacy.NonPrivate; {
	case private && n.Ledger == "":
		errs = append(errs, fmt.Errorf("fleetfile: ledger is missing, want the lifetime ledger of this node's data set, "+
			"because the fleet is private; %w", state.ErrNoLedger))
	case !private && n.Ledger != "":
		errs = append(errs, fmt.Errorf("fleetfile: ledger is %q, want no ledger: the fleet is not private, and the "+
			"privacy cost of a run without noise is unbounded", n.Ledger))
	}
	return key, errors.Join(errs...)
}

// Certificate returns the path of the node's certificate.
func (n *Node) Certificate() string { return filepath.Join(n.State, "certificate.json") }

// Resolve converts a path in a file to a path that can be opened: it joins a relative path to dir, the folder of that
// file. An empty path stays empty. If dir is a link, ".." in path means the folder that contains the linked folder, as it
// does for the system.
func Resolve(dir, path string) string {
	path = filepath.FromSlash(path)
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	through := dir + string(filepath.Separator) + path
	if up := strings.LastIndex(through, "..") + 2; strings.Contains(path, "..") {
		at, err := os.Stat(through[:up])
		clean, missing := os.Stat(filepath.Clean(through[:up]))
		if err == nil && (missing != nil || !os.SameFile(at, clean)) {
			if target, err := filepath.EvalSymlinks(through[:up]); err == nil {
				return filepath.Join(target, through[up:])
			}
		}
	}
	return filepath.Join(dir, path)
}

func hostPort(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return err == nil
}

// loopback reports whether a TCP address is reachable from this machine only.
func loopback(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// seconds converts *s, the value of a field in seconds, to a duration. It returns 0 if the field is missing (s is nil) or its
// value is not valid.
func seconds(s *float64, field string, errs *faults) time.Duration {
	const most = 7 * 24 * 60 * 60
	if s == nil {
		return 0
	} else if !(*s >= 0.001 && *s <= most) {
		errs.when(true, "%s is %v, want a number of seconds, 0.001..%d", field, *s, most)
		return 0
	}
	return time.Duration(*s * float64(time.Second))
}

// atLeast parses *text, the value of a field with a duration. It returns 0 if the field is missing (text is nil).
func atLeast(least time.Duration, text *string, field string, errs *faults) time.Duration {
	if text == nil {
		return 0
	}
	d, err := time.ParseDuration(*text)
	errs.when(err != nil || d < least, "%s is %q, want a duration of at least %v, such as \"15m\"", field, *text, least)
	return d
}

// parseProxy parses the URL of a proxy and rejects a URL with credentials. Its errors do not contain the URL, which may
// contain a password.
func parseProxy(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("is not a URL, want http://host:port")
	case u.User != nil:
		return nil, errors.New("contains a user name: put the user name and password into the file given in proxy_credentials")
	}
	if err := transport.CheckProxy(u); err != nil {
		return nil, fmt.Errorf("is not the URL of a proxy: %w", err)
	}
	return u, nil
}

// OpenProxy returns the URL of the node's proxy, or nil if the node file names no proxy. The URL contains the proxy's
// credentials, so it must not be printed. OpenProxy reads the file of credentials as [ReadUser] does.
func (n *Node) OpenProxy() (*url.URL, error) {
	if n.Proxy == "" {
		return nil, nil
	}
	u, err := parseProxy(n.Proxy)
	if err != nil {
		return nil, fmt.Errorf("fleetfile: proxy %w", err)
	}
	if n.ProxyCredentials == "" {
		return u, nil
	}
	user, password, err := ReadUser(n.ProxyCredentials, "proxy credentials")
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(user+password, unicode.IsControl) { // RFC 7617, section 2
		return nil, fmt.Errorf("fleetfile: proxy credentials %s: found a control character, want none", n.ProxyCredentials)
	}
	u.User = url.UserPassword(user, password)
	return u, nil
}
