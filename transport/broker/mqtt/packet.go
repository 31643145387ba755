package mqtt

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// These are the packet types (MQTT 5, section 2.1.2) that a client sends and receives at QoS 1.
const (
	kindConnect    = 1
	kindConnack    = 2
	kindPublish    = 3
	kindPuback     = 4
	kindSubscribe  = 8
	kindSuback     = 9
	kindPingreq    = 12
	kindPingresp   = 13
	kindDisconnect = 14
)

// These are packet properties (section 2.2.2.2).
const (
	propExpiry        = 0x02
	propSessionExpiry = 0x11
	propKeepAlive     = 0x13
	propReason        = 0x1f
	propReceiveMax    = 0x21
	propAliasMax      = 0x22
	propAlias         = 0x23
	propMaxQoS        = 0x24
	propMaxPacket     = 0x27
)

// The client handles these reason codes (section 2.4) specially.
const (
	reasonNobody        = 0x10 // no session subscribes to the topic
	reasonProtocol      = 0x82
	reasonNotAuthorized = 0x87
	reasonTakenOver     = 0x8e
	reasonTooLarge      = 0x95
)

// longestPacket is the largest length that a variable byte integer can encode in four bytes.
const longestPacket = 1<<28 - 1

var errMalformed = errors.New("the broker sent a packet that is not MQTT 5")

// packet is a packet whose body has not been parsed yet.
type packet struct {
	kind, flags byte
	body        []byte
}

// readPacket reads a packet. It fails if the packet's body is longer than the parameter most, in bytes.
func readPacket(r *bufio.Reader, most int) (p packet, err error) {
	first, err := r.ReadByte()
	if err != nil {
		return p, err
	}
	p.kind, p.flags = first>>4, first&15
	length := 0
	for shift := 0; ; shift += 7 {
		b, err := r.ReadByte()
		if err != nil {
			return p, unexpected(err)
		}
		if length |= int(b&127) << shift; b < 128 {
			break
		}
		if shift == 21 {
			return p, fmt.Errorf("%w: the length field is longer than four bytes", errMalformed)
		}
	}
	if length > most {
		return p, fmt.Errorf("%w: the packet has %d bytes, want at most %d", errMalformed, length, most)
	}
	p.body = make([]byte, length)
	_, err = io.ReadFull(r, p.body)
	return p, unexpected(err)
}

// unexpected replaces io.EOF in the middle of a packet with io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// newPacket returns a packet without the end of its body, so that the caller can send a long payload without copying it.
// The parameter more is the length of the missing end, in bytes.
func newPacket(first byte, body []byte, more int) []byte {
	return append(appendLength([]byte{first}, len(body)+more), body...)
}

// appendLength appends n as a variable byte integer (section 1.5.5).
func appendLength(b []byte, n int) []byte {
	for ; n > 127; n >>= 7 {
		b = append(b, byte(n)|128)
	}
	return append(b, byte(n))
}

// appendText appends a string, or binary data, of at most 65,535 bytes.
func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

// cursor reads the fields of a packet's body one by one. After an error, it returns only zero values.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.bad, c.b = true, nil
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) number(bytes int) (n uint32) {
	for _, b := range c.take(bytes) {
		n = n<<8 | uint32(b)
	}
	return n
}

func (c *cursor) text() string {
	s := string(c.take(int(c.number(2))))
	if !utf8.ValidString(s) {
		c.bad = true
	}
	return s
}

func (c *cursor) length() (n int) {
	for shift := 0; shift < 28; shift += 7 {
		b := c.number(1)
		if n |= int(b&127) << shift; b < 128 {
			return n
		}
	}
	c.bad = true
	return 0
}

// properties contains the numeric properties and the reason string of a packet.
type properties struct {
	has    uint64 // bit set of the properties present
	number [64]uint32
	reason string
}

// get returns the property with the given identifier, or the value of the parameter absent if the packet does not have
// that property.
func (p *properties) get(id byte, absent uint32) uint32 {
	if p.has>>id&1 == 0 {
		return absent
	}
	return p.number[id]
}

// properties reads all properties of a packet. Only user properties may occur more than once.
func (c *cursor) properties() (p properties) {
	inner := cursor{b: c.take(c.length())}
	for len(inner.b) > 0 && !inner.bad {
		id := byte(inner.number(1))
		if id != 0x26 && (id >= 64 || p.has>>id&1 == 1) {
			inner.bad = true
			break
		}
		p.has |= 1 << (id % 64)
		switch id {
		case 0x01, 0x17, 0x19, propMaxQoS, 0x25, 0x28, 0x29, 0x2a:
			p.number[id] = inner.number(1)
		case propKeepAlive, propReceiveMax, propAliasMax, propAlias:
			p.number[id] = inner.number(2)
		case propExpiry, propSessionExpiry, 0x18, propMaxPacket:
			p.number[id] = inner.number(4)
		case 0x0b:
			inner.length()
		case propReason:
			p.reason = inner.text()
		case 0x03, 0x08, 0x12, 0x15, 0x1a, 0x1c:
			inner.text()
		case 0x09, 0x16:
			inner.take(int(inner.number(2)))
		case 0x26:
			inner.text()
			inner.text()
		default:
			inner.bad = true
		}
	}
	c.bad = c.bad || inner.bad
	return p
}

// reply is a packet with which the broker reports a result: CONNACK, PUBACK, SUBACK or DISCONNECT.
type reply struct {
	id      uint16 // identifier of the answered packet; 0 for none
	session bool   // in a CONNACK: the broker has a session of this client
	code    byte
	properties
}

// parseReply parses a CONNACK, PUBACK, SUBACK or DISCONNECT packet.
func parseReply(p packet) (r reply, err error) {
	c := cursor{b: p.body}
	switch p.kind {
	case kindConnack:
		r.session = c.number(1)&1 == 1
		r.code = byte(c.number(1))
		if len(c.b) == 0 && r.code > 0 && !c.bad { // a broker of MQTT 3, whose codes differ
			r.code = 0x84
		} else {
			r.properties = c.properties()
		}
	case kindSuback:
		r.id = uint16(c.number(2))
		r.properties = c.properties()
		r.code = byte(c.number(1))
	case kindPuback, kindDisconnect: // may end after any field
		if p.kind == kindPuback {
			r.id = uint16(c.number(2))
		}
		if len(c.b) > 0 {
			r.code = byte(c.number(1))
		}
		if len(c.b) > 0 {
			r.properties = c.properties()
		}
	default:
		c.bad = true
	}
	if c.bad || len(c.b) > 0 {
		return reply{}, fmt.Errorf("%w: cannot parse a packet of kind %d with %d bytes",
			errMalformed, p.kind, len(p.body))
	}
	return r, nil
}

// delivery is a PUBLISH packet from the broker.
type delivery struct {
	topic   string // empty if the packet has an alias in place of the topic
	alias   uint16 // 0 for none
	qos     byte
	id      uint16
	payload []byte // shares memory with the packet
}

func parseDelivery(p packet) (d delivery, err error) {
	c := cursor{b: p.body}
	d.topic, d.qos = c.text(), p.flags>>1&3
	if d.qos > 0 {
		d.id = uint16(c.number(2))
	}
	props := c.properties()
	d.alias, d.payload = uint16(props.get(propAlias, 0)), c.b
	if c.bad || p.kind != kindPublish || d.qos > 1 || d.qos > 0 && d.id == 0 || d.topic == "" && d.alias == 0 {
		return delivery{}, fmt.Errorf("%w: cannot parse a PUBLISH packet with %d bytes", errMalformed, len(p.body))
	}
	return d, nil
}

// refusal is the error for a reason code of 0x80 or more that the broker sent.
type refusal struct {
	code byte
	text string // the broker's own text, if any
}

func (r *refusal) Error() string {
	s := fmt.Sprintf("%s (reason code 0x%02x)", reasons[r.code], r.code)
	if reasons[r.code] == "" {
		s = fmt.Sprintf("reason code 0x%02x", r.code)
	}
	if r.text != "" {
		s += fmt.Sprintf(": %.200q", r.text)
	}
	return s
}

// reasons contains a text for each reason code of 0x80 or more that this client can receive.
var reasons = map[byte]string{
	0x80: "unspecified error", 0x81: "malformed packet", 0x82: "protocol error", 0x83: "the broker's own error",
	0x84: "the broker does not speak MQTT 5", 0x85: "client id not valid", 0x86: "bad user name or password",
	0x87: "not authorized", 0x88: "server unavailable", 0x89: "server busy", 0x8a: "banned",
	0x8b: "server shutting down", 0x8c: "bad authentication method", 0x8d: "keep alive timeout",
	reasonTakenOver: "another client may have connected with this node's client id (is there a copy of this node?)",
	0x8f:            "topic filter invalid", 0x90: "topic name invalid", 0x91: "packet identifier in use",
	0x93: "receive maximum exceeded", 0x94: "topic alias invalid", 0x95: "packet too large",
	0x96: "message rate too high", 0x97: "quota exceeded", 0x98: "administrative action", 0x99: "payload format invalid",
	0x9b: "QoS not supported", 0x9c: "use another server", 0x9d: "server moved", 0x9f: "connection rate exceeded",
	0xa0: "maximum connect time", 0xa2: "wildcard subscriptions not supported",
}

// err returns a refusal if the reason code is 0x80 or more, and nil otherwise.
func (r *reply) err() error {
	if r.code < 0x80 {
		return nil
	}
	return &refusal{r.code, r.reason}
}
