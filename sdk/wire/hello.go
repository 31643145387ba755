package wire

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxHello is the maximum length in bytes of an encoded [Hello].
const maxHello = 384

// maxSections is the maximum number of sections in a [Hello].
const maxSections = 16

// MaxName is the maximum length in bytes of a run's id and of a member's name.
const MaxName = 64

// Hello is the first frame from each end of a connection. It binds the connection to one run, fleet file, direction and
// version of the frames. All versions encode it the same way, so that nodes can report a version mismatch. A hello
// proves nothing about its sender; the transport authenticates the sender.
type Hello struct {
	Codec uint32   `cbor:"1,keyasint"` // version of the sender's protocol, at least 1; this package sends Protocol
	Run   string   `cbor:"2,keyasint"` // id of the run: 1 to 64 bytes of UTF-8
	Fleet [32]byte `cbor:"3,keyasint"` // SHA-256 of the fleet file's canonical form
	From  string   `cbor:"4,keyasint"` // name of the sender: 1 to 64 bytes of UTF-8
	To    string   `cbor:"5,keyasint"` // name of the receiver, 1 to 64 bytes of UTF-8

	// Sections lists the sections of the fleet file with their hashes, so that Check can name the sections that differ.
	// It has up to maxSections entries, in the same order for all members. A section that the file lacks has a Sum of
	// zeros, or is omitted at the end.
	Sections []Section `cbor:"-"`
}

// Section is a part of the fleet file.
type Section struct {
	Name string  // for errors of [Hello.Check]; not transmitted, so empty in a decoded hello
	Sum  [4]byte // first bytes of the SHA-256 of the section's canonical form
}

type hello struct {
	*Hello
	Sums []byte `cbor:"6,keyasint,omitempty"` // of all sections
}

// EncodeHello returns the encoding of h, at most [maxHello] bytes. The error names each field that is out of range.
func EncodeHello(h Hello) ([]byte, error) {
	if err := h.check(); err != nil {
		return nil, fmt.Errorf("wire: hello: %w", err)
	}
	e := hello{Hello: &h}
	for _, s := range h.Sections {
		e.Sums = append(e.Sums, s.Sum[:]...)
	}
	return appendItem(nil, &e)
}

func (h Hello) check() error {
	var codec, sections error
	if h.Codec == 0 {
		codec = errors.New("codec: found version 0, wanted 1 or more")
	}
	if len(h.Sections) > maxSections {
		sections = fmt.Errorf("sections: found %d, wanted at most %d", len(h.Sections), maxSections)
	}
	return errors.Join(codec, checkName("run", h.Run), checkName("from", h.From), checkName("to", h.To), sections)
}

func checkName(field, s string) error {
	switch {
	case len(s) < 1 || len(s) > MaxName:
		return fmt.Errorf("%s: found %d bytes, wanted 1..%d", field, len(s), MaxName)
	case !utf8.ValidString(s):
		return fmt.Errorf("%s: found %q, wanted valid UTF-8", field, s)
	}
	return nil
}

// DecodeHello decodes a hello as strictly as [Codec.Decode] decodes a frame, and keeps no reference to b. [Hello.Check]
// compares the decoded hello with the expected hello.
func DecodeHello(b []byte) (h Hello, err error) {
	e := hello{Hello: &h}
	if len(b) > maxHello {
		err = fmt.Errorf("found %d bytes, wanted at most %d", len(b), maxHello)
	} else {
		err = decodeItem(b, &e)
	}
	if n := len(e.Sums); err == nil && n%4 != 0 {
		err = fmt.Errorf("sections: found %d bytes, wanted a multiple of 4", n)
	}
	if err == nil {
		for sum := range slices.Chunk(e.Sums, 4) {
			h.Sections = append(h.Sections, Section{Sum: [4]byte(sum)})
		}
		err = h.check()
	}
	if err != nil {
		return Hello{}, fmt.Errorf("wire: hello: %w", err)
	}
	return h, nil
}

// Check compares a received hello with the expected hello. The error lists every differing field with both values. A
// fleet hash is shown as its first eight bytes. If both hellos have sections, the names of the sections that differ
// follow the two hashes.
func (h Hello) Check(want Hello) error {
	var errs []error
	differ := func(field, format string, found, wanted any, more string) {
		if found != wanted {
			errs = append(errs, fmt.Errorf("wire: hello: %s: found %s, wanted %s%s", field, fmt.Sprintf(format, found),
				fmt.Sprintf(format, wanted), more))
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

// differing names the sections that differ. It names no section if either hello has no sections.
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
			names = append(names, cmp.Or(s.Name, fmt.Sprintf("section %d", i+1))+" differs")
		}
	}
	return ": " + cmp.Or(strings.Join(names, ", "), "no section differs")
}
