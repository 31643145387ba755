package wire

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/spade-dfl/spade-edge/sdk/wire/cbor"
)

// maxHello bounds the length in bytes of an encoded [Hello].
const maxHello = 384

// maxSections is how many sections of the fleet file a [Hello] may tell of.
const maxSections = 16

// MaxName bounds the run's id and the members' names, in bytes.
const MaxName = 64

// Hello is what each end of a connection says first. It binds the connection to one run, one fleet file, one
// direction and one version of the frames, so that what is meant for another is refused before it can do harm. Its
// own encoding is the same in all versions, so that nodes of different versions can still tell each other so. It
// proves nothing about its sender; that is the transport's work.
type Hello struct {
	Run   string   // id of the run: 1 to 64 bytes of UTF-8
	Fleet [32]byte // SHA-256 of the fleet file's canonical form
	From  string   // name of the sender: 1 to 64 bytes of UTF-8
	To    string   // name of the receiver, likewise
	Codec uint32   // version of the protocol: Protocol, or another from 1 on that the sender has

	// Sections tell two members with different fleet files which part of them differs: up to maxSections, in an order that
	// all members keep. There may be none. One with a Sum of zeros, or missing at the end, is a part that the file does
	// not have.
	Sections []Section
}

// Section is a part of the fleet file.
type Section struct {
	Name string  // in errors of [Hello.Check]; it does not travel, so a decoded hello has none
	Sum  [4]byte // the first bytes of the SHA-256 of the part's canonical form
}

// helloNames are the names of the keys in errors.
var helloNames = []string{1: "codec", 2: "run", 3: "fleet", 4: "from", 5: "to", 6: "sections"}

// EncodeHello returns the encoding of h, at most [maxHello] bytes. The error names every field that does not keep to
// its limits.
func EncodeHello(h Hello) ([]byte, error) {
	var codec, sections error
	if h.Codec == 0 {
		codec = errors.New("wire: hello: codec: found 0, wanted a version from 1 on")
	}
	if len(h.Sections) > maxSections {
		sections = fmt.Errorf("wire: hello: sections: found %d, wanted at most %d", len(h.Sections), maxSections)
	}
	if err := errors.Join(codec, checkNames(h), sections); err != nil {
		return nil, err
	}
	w := cbor.Writer{B: make([]byte, 0, maxHello)}
	w.Map(5 + min(len(h.Sections), 1))
	w.Uint(1, uint64(h.Codec))
	w.Text(2, h.Run)
	w.Bytes(3, h.Fleet[:])
	w.Text(4, h.From)
	w.Text(5, h.To)
	var sums []byte
	for _, s := range h.Sections {
		sums = append(sums, s.Sum[:]...)
	}
	w.Bytes(6, sums)
	return w.B, nil
}

// checkNames reports a hello's run id and names outside their limits.
func checkNames(h Hello) error {
	return errors.Join(checkName("wire: hello: run", h.Run), checkName("wire: hello: from", h.From),
		checkName("wire: hello: to", h.To))
}

// checkName reports a name outside its limits.
func checkName(field, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%s: found an empty string, wanted 1..%d bytes", field, MaxName)
	case len(s) > MaxName:
		return fmt.Errorf("%s: found %d bytes, wanted 1..%d", field, len(s), MaxName)
	case !utf8.ValidString(s):
		return fmt.Errorf("%s: found %q, wanted valid UTF-8", field, s)
	}
	return nil
}

// DecodeHello reads a hello, as strictly as frames are read. It keeps nothing of b. That the hello is the one
// expected is for [Hello.Check] to say.
func DecodeHello(b []byte) (Hello, error) {
	if len(b) > maxHello {
		return Hello{}, fmt.Errorf("wire: hello: found %d bytes, wanted at most %d", len(b), maxHello)
	}
	var m [7]cbor.Item
	if err := cbor.Unmarshal(b, m[:], helloNames); err != nil {
		return Hello{}, fmt.Errorf("wire: hello: %w", err)
	}
	var h Hello
	codec, errCodec := m[1].Uint("codec", 1, math.MaxUint32)
	fleet, errFleet := m[3].Bytes("fleet")
	if errFleet == nil && len(fleet) != len(h.Fleet) {
		errFleet = fmt.Errorf("fleet: found %d bytes, wanted %d", len(fleet), len(h.Fleet))
	}
	sections, errSections := readSections(m[6])
	var errRun, errFrom, errTo error
	h.Run, errRun = m[2].Text("run")
	h.From, errFrom = m[4].Text("from")
	h.To, errTo = m[5].Text("to")
	errExact := cbor.Exact(b, m[:]...)
	if err := cmp.Or(errCodec, errRun, errFleet, errFrom, errTo, errSections, errExact); err != nil {
		return Hello{}, fmt.Errorf("wire: hello: %w", err)
	}
	if err := checkNames(h); err != nil {
		return Hello{}, err
	}
	h.Codec = uint32(codec)
	h.Sections = sections
	copy(h.Fleet[:], fleet)
	return h, nil
}

// readSections reads the sums of a hello's sections; the field may be absent.
func readSections(it cbor.Item) ([]Section, error) {
	if it == nil {
		return nil, nil
	}
	b, err := it.Bytes("sections")
	if err != nil {
		return nil, err
	}
	if len(b) == 0 || len(b)%4 != 0 || len(b) > 4*maxSections {
		return nil, fmt.Errorf("sections: found %d bytes, wanted 4 for each of 1..%d", len(b), maxSections)
	}
	list := make([]Section, len(b)/4)
	for i := range list {
		copy(list[i].Sum[:], b[4*i:])
	}
	return list, nil
}

// Check compares a received hello with the one that the receiver expects of this connection. The error names every
// field that differs, with both values, fleet hashes by their first eight bytes. If both hellos tell of sections, it
// says which of them differ, in the names that want has for them; they are not looked at if the hashes are equal.
func (h Hello) Check(want Hello) error {
	var errs []error
	differ := func(field, format string, found, wanted any, more string) {
		if found != wanted {
			errs = append(errs, fmt.Errorf("wire: hello: %s: found "+format+", wanted "+format+"%s", field, found, wanted, more))
		}
	}
	differ("run", "%q", h.Run, want.Run, "")
	if h.Fleet != want.Fleet {
		differ("fleet file hash", "%.8x...", h.Fleet, want.Fleet, h.differing(want))
	}
	differ("from", "%q", h.From, want.From, "")
	differ("to", "%q", h.To, want.To, "")
	differ("codec", "%d", h.Codec, want.Codec, "")
	return errors.Join(errs...)
}

// differing says which sections differ, or nothing if one of the two tells of none.
func (h Hello) differing(want Hello) string {
	found, wanted := h.Sections, want.Sections
	if len(found) == 0 || len(wanted) == 0 {
		return ""
	}
	at := func(list []Section, i int) (s Section) {
		if i < len(list) {
			s = list[i]
		}
		return s
	}
	var names []string
	for i := range max(len(found), len(wanted)) {
		if s := at(wanted, i); at(found, i).Sum != s.Sum {
			names = append(names, cmp.Or(s.Name, fmt.Sprintf("section %d", i+1)))
		}
	}
	switch len(names) {
	case 0:
		return ": in no section"
	case 1:
		return ": " + names[0] + " differs"
	}
	return ": " + strings.Join(names, ", ") + " differ"
}
