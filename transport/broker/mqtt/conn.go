package mqtt

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

const (
	chunk     = 16 << 10 // bytes that must be written within timing.answer
	slowest   = 1 << 10  // lowest useful speed of a link, in bytes a second
	inFlight  = 8        // maximum number of unconfirmed messages from the broker
	maxSlots  = 64       // maximum number of unconfirmed messages to the broker, which may allow fewer
	maxHeader = 128      // bytes of a PUBLISH in addition to its payload
)

var errLeft = errors.New("this node ended the connection")

var errSilent = errors.New("the broker did not answer in time")

// conn is a connection on which the broker has admitted this node.
type conn struct {
	net    net.Conn
	timing *timing
	take   func(topic string, payload []byte) // called by the reader

	session   bool // the broker had a session for this node
	maxPacket int  // bytes of the longest packet that the broker accepts
	keepAlive time.Duration

	writing  sync.Mutex // held to write; guards the fields below
	aliases  map[string]uint16
	maxAlias uint16
	wrote    time.Time

	slots chan struct{} // holds a token for each unconfirmed message to the broker
	heard chan struct{} // holds a token if a message has arrived

	mu      sync.Mutex // guards the fields below
	waiting map[uint16]waiting
	bytes   int // total size of the waiting messages
	last    uint16

	over context.Context // ends with the connection; its cause is the reason
	cut  context.CancelCauseFunc
	work sync.WaitGroup // the goroutines of the connection
}

// waiting describes a packet that the broker has not answered yet.
type waiting struct {
	answer chan reply
	bytes  int // size of a message; 0 for a packet of another kind, which takes no slot
}

// hello contains the fields of a CONNECT packet, the first packet that a client sends.
type hello struct {
	client         string
	user, password string // empty means none
	expiry         uint32 // seconds that the broker keeps the session
	clean          bool   // whether the broker must discard an earlier session
	peers          int    // number of topics on which the broker will send
	maxPacket      int
}

func (h *hello) packet(keepAlive time.Duration) []byte {
	flags := byte(0)
	if h.user != "" {
		flags |= 0x80
	}
	if h.password != "" {
		flags |= 0x40
	}
	if h.clean {
		flags |= 0x02
	}
	b := append(appendText(nil, "MQTT"), 5, flags)
	b = binary.BigEndian.AppendUint16(b, uint16(keepAlive/time.Second))
	props := binary.BigEndian.AppendUint32([]byte{propSessionExpiry}, h.expiry)
	props = binary.BigEndian.AppendUint16(append(props, propReceiveMax), inFlight)
	props = binary.BigEndian.AppendUint32(append(props, propMaxPacket), uint32(h.maxPacket))
	props = binary.BigEndian.AppendUint16(append(props, propAliasMax), uint16(min(h.peers, 1<<16-1)))
	b = append(appendLength(b, len(props)), props...)
	b = appendText(b, h.client)
	if h.user != "" {
		b = appendText(b, h.user)
	}
	if h.password != "" {
		b = appendText(b, h.password)
	}
	return newPacket(kindConnect<<4, b, 0)
}

// connect opens an MQTT connection over the network connection c, within the time limit t.connect. If it fails, it
// closes c.
func connect(ctx context.Context, c net.Conn, h hello, t *timing, take func(topic string, payload []byte)) (*conn, error) {
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	in := &patient{c, t.connect}
	r := bufio.NewReader(in)
	_ = c.SetWriteDeadline(time.Now().Add(t.connect))
	// In TLS 1.3, a broker refuses a certificate only after this end has finished its handshake, and then closes the
	// connection. So this write may fail even though the reason for the refusal can still be read.
	_, wrong := c.Write(h.packet(t.keepAlive))
	p, err := readPacket(r, h.maxPacket)
	var a reply
	if err == nil {
		a, err = parseReply(p)
	}
	if err == nil && p.kind != kindConnack {
		err = errMalformed
	}
	err = cmp.Or(err, a.err(), wrong)
	if err == nil && a.get(propMaxQoS, 2) < 1 {
		err = fmt.Errorf("%w: it supports only QoS 0, want QoS 1", errLimit)
	}
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	n := &conn{
		net: c, timing: t, take: take, session: a.session, keepAlive: t.keepAlive, aliases: map[string]uint16{},
		maxPacket: int(min(a.get(propMaxPacket, longestPacket), longestPacket)), maxAlias: uint16(a.get(propAliasMax, 0)),
		slots:   make(chan struct{}, max(1, min(a.get(propReceiveMax, 1<<16-1), maxSlots))),
		heard:   make(chan struct{}, 1),
		waiting: map[uint16]waiting{}, wrote: time.Now(),
	}
	if s := a.get(propKeepAlive, 0); s > 0 {
		n.keepAlive = time.Duration(s) * time.Second
	}
	in.limit = n.keepAlive + n.keepAlive/2
	n.over, n.cut = context.WithCancelCause(context.Background())
	n.work.Go(func() { n.end(n.read(r, h)) })
	n.work.Go(n.ping)
	return n, nil
}

func (n *conn) end(reason error) {
	n.cut(reason)
	n.net.Close()
}

// why returns the reason why the connection ended.
func (n *conn) why() error { return context.Cause(n.over) }

func (n *conn) write(parts ...[]byte) error {
	n.writing.Lock()
	defer n.writing.Unlock()
	return n.writeLocked(parts...)
}

func (n *conn) writeLocked(parts ...[]byte) error {
	if len(parts) > 1 && len(parts[1]) <= chunk { // one write: one TLS record, and perhaps one network packet
		parts = [][]byte{append(parts[0], parts[1]...)}
	}
	for _, b := range parts {
		for len(b) > 0 {
			_ = n.net.SetWriteDeadline(time.Now().Add(n.timing.answer))
			m, err := n.net.Write(b[:min(len(b), chunk)])
			if err != nil {
				n.end(err) // the connection is unusable: a part of a packet may have been sent
				return err
			}
			b = b[m:]
		}
	}
	n.wrote = time.Now()
	return nil
}

// patient is a connection that extends its read deadline before every read, because a long packet may take a long time.
type patient struct {
	net.Conn
	limit time.Duration
}

func (p *patient) Read(b []byte) (int, error) {
	_ = p.SetReadDeadline(time.Now().Add(p.limit))
	n, err := p.Conn.Read(b)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		err = errSilent
	}
	return n, err
}

// read reads and handles packets until an error occurs, and returns that error.
func (n *conn) read(r *bufio.Reader, h hello) error {
	topics := make(map[uint16]string)
	for {
		p, err := readPacket(r, h.maxPacket)
		if err != nil {
			return err
		}
		switch p.kind {
		case kindPublish:
			d, err := parseDelivery(p)
			if err != nil {
				return err
			}
			if d.alias > 0 && d.topic != "" && int(d.alias) <= h.peers {
				topics[d.alias] = d.topic
			} else if d.alias > 0 {
				if d.topic = topics[d.alias]; d.topic == "" {
					return fmt.Errorf("%w: unknown topic alias %d", errMalformed, d.alias)
				}
			}
			endpoint.Offer(n.heard, struct{}{})
			n.take(d.topic, d.payload)
			if d.qos > 0 {
				if err := n.write(newPacket(kindPuback<<4, binary.BigEndian.AppendUint16(nil, d.id), 0)); err != nil {
					return err
				}
			}
		case kindPuback, kindSuback:
			a, err := parseReply(p)
			if err != nil {
				return err
			}
			n.answered(a)
		case kindDisconnect:
			a, err := parseReply(p)
			if err == nil && a.err() == nil {
				err = errors.New("the broker ended the connection")
			}
			return errors.Join(err, a.err())
		case kindPingresp:
		default:
			return fmt.Errorf("%w: unexpected packet of kind %d", errMalformed, p.kind)
		}
	}
}

// answered passes a reply to the goroutine that is waiting for it. If the reply answers a message, answered frees the
// message's slot.
func (n *conn) answered(a reply) {
	n.mu.Lock()
	w, known := n.waiting[a.id]
	delete(n.waiting, a.id)
	n.bytes -= w.bytes
	n.mu.Unlock()
	if !known {
		return
	}
	if w.bytes > 0 {
		<-n.slots
	}
	w.answer <- a
}

// ask sends a packet with a new identifier and waits for the broker's answer. bytes is the size of a message, or 0 for any
// other packet. If no answer arrives in time, ask ends the connection, because MQTT allows a message to be sent again
// only on a new connection.
func (n *conn) ask(ctx context.Context, bytes int, send func(id uint16) error) (reply, error) {
	n.mu.Lock()
	for taken := true; taken || n.last == 0; { // terminates: at most maxSlots + 1 identifiers are in use
		n.last++
		_, taken = n.waiting[n.last]
	}
	id, answer := n.last, make(chan reply, 1)
	n.waiting[id] = waiting{answer, bytes}
	n.bytes += bytes
	limit := n.timing.answer + time.Duration(n.bytes/slowest)*time.Second
	n.mu.Unlock()
	if err := send(id); err != nil {
		return reply{}, err
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case a := <-answer:
		return a, a.err()
	case <-n.over.Done():
		return reply{}, n.why()
	case <-late.C:
		n.end(errSilent)
		return reply{}, errSilent
	case <-ctx.Done():
		return reply{}, ctx.Err()
	}
}

// publish sends a message and waits until the broker confirms it. expiry is the number of seconds after which the
// broker may discard the message. payload must not be empty.
func (n *conn) publish(ctx context.Context, topic string, expiry uint32, payload []byte) error {
	if longest := n.maxPacket - maxHeader; len(payload) > longest {
		return fmt.Errorf("the message has %d bytes, but the broker accepts at most %d: %w",
			len(payload), longest, &refusal{code: reasonTooLarge})
	}
	select {
	case n.slots <- struct{}{}:
	case <-n.over.Done():
		return n.why()
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := n.ask(ctx, len(payload), func(id uint16) error { return n.writeMessage(topic, id, expiry, payload) })
	return err
}

// writeMessage writes a PUBLISH packet. If the topic already has an alias, the packet contains the alias instead of the
// topic.
func (n *conn) writeMessage(topic string, id uint16, expiry uint32, payload []byte) error {
	n.writing.Lock()
	defer n.writing.Unlock()
	alias, known := n.aliases[topic]
	if !known && len(n.aliases) < int(n.maxAlias) {
		alias = uint16(len(n.aliases) + 1)
		n.aliases[topic] = alias
	}
	if known {
		topic = ""
	}
	body := binary.BigEndian.AppendUint16(appendText(nil, topic), id)
	props := binary.BigEndian.AppendUint32([]byte{propExpiry}, expiry)
	if alias > 0 {
		props = binary.BigEndian.AppendUint16(append(props, propAlias), alias)
	}
	body = append(appendLength(body, len(props)), props...)
	return n.writeLocked(newPacket(kindPublish<<4|1<<1, body, len(payload)), payload)
}

// subscribe subscribes to a topic filter at QoS 1, without retained messages.
func (n *conn) subscribe(ctx context.Context, filter string) error {
	a, err := n.ask(ctx, 0, func(id uint16) error {
		body := append(binary.BigEndian.AppendUint16(nil, id), 0)
		return n.write(newPacket(kindSubscribe<<4|2, append(appendText(body, filter), 2<<4|1), 0))
	})
	if err == nil && a.code != 1 {
		err = fmt.Errorf("the broker granted QoS %d, want QoS 1", a.code)
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", filter, err)
	}
	return nil
}

func (n *conn) ping() {
	for {
		n.writing.Lock()
		due := n.wrote.Add(n.keepAlive * 3 / 4)
		n.writing.Unlock()
		if wait := time.Until(due); wait > 0 {
			select {
			case <-time.After(wait):
			case <-n.over.Done():
				return
			}
			continue
		}
		if n.write([]byte{kindPingreq << 4, 0}) != nil {
			return
		}
	}
}

// close sends DISCONNECT. The broker keeps the session.
func (n *conn) close() {
	_ = n.write([]byte{kindDisconnect << 4, 0})
	n.end(errLeft)
	n.work.Wait()
}
