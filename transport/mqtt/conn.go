package mqtt

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	chunk     = 16 << 10 // bytes that have to leave within the time that the broker has for an answer
	slowest   = 1 << 10  // bytes a second of a line that is still worth something
	inFlight  = 8        // messages that the broker may send before one is confirmed
	maxSlots  = 64       // messages to the broker that are not confirmed yet, if it allows as many
	maxHeader = 128      // bytes of a PUBLISH beside its payload
)

// errLeft is the end of a connection that this node has ended.
var errLeft = errors.New("this node has ended the connection")

var errSilent = errors.New("the broker has not answered in time")

// conn is one connection with a broker, which has let this node in.
type conn struct {
	net    net.Conn
	timing *timing
	take   func(topic string, payload []byte) // called by the reader

	session   bool // the broker had one for this node
	maxPacket int  // bytes of the longest packet for the broker
	keepAlive time.Duration

	writing  sync.Mutex // held to write; guards what follows
	aliases  map[string]uint16
	maxAlias uint16
	wrote    time.Time

	slots chan struct{} // holds a token for each message that the broker has not confirmed

	mu      sync.Mutex // of what follows
	waiting map[uint16]waiting
	bytes   int    // in the messages that wait
	last    uint16 // packet identifier
	err     error  // why the connection has ended

	over  context.Context // ends with the connection
	cut   context.CancelFunc
	ended chan struct{} // closed when nothing is at work any more
}

// waiting is a packet that the broker has to answer.
type waiting struct {
	answer chan reply
	bytes  int // 0 for what takes no slot
}

// hello is what a client says of itself.
type hello struct {
	client         string
	user, password string // empty for none
	expiry         uint32 // seconds that the broker keeps the session
	clean          bool   // the broker has to forget an earlier session
	peers          int    // how many topics the broker will send on
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
	return appendPacket(nil, kindConnect<<4, b, 0)
}

// connect is let in by a broker, to which c leads, within the time for that; it closes c if it is not.
func connect(ctx context.Context, c net.Conn, h hello, t *timing, take func(topic string, payload []byte)) (*conn, error) {
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	in := &patient{c, t.connect}
	r := bufio.NewReader(in)
	_ = c.SetWriteDeadline(time.Now().Add(t.connect))
	// A broker that refuses a certificate in TLS 1.3 says so when TLS has begun here, and closes: a fault of the write
	// then matters less than what there is to read.
	_, wrong := c.Write(h.packet(t.keepAlive))
	p, err := readPacket(r, h.maxPacket)
	var a reply
	if err == nil {
		a, err = parseReply(p)
	}
	if err == nil && p.kind != kindConnack {
		err = errMalformed
	}
	if err == nil {
		err = a.err()
	}
	if err == nil {
		err = wrong
	}
	if err == nil && a.get(propMaxQoS, 2) < 1 {
		err = errors.New("the broker has QoS 0 alone, want 1")
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
		waiting: map[uint16]waiting{}, wrote: time.Now(), ended: make(chan struct{}),
	}
	if s := a.get(propKeepAlive, 0); s > 0 {
		n.keepAlive = time.Duration(s) * time.Second
	}
	in.limit = n.keepAlive + n.keepAlive/2
	n.over, n.cut = context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { n.end(n.read(r, h)) })
	work.Go(n.ping)
	go func() { work.Wait(); close(n.ended) }()
	return n, nil
}

// end ends the connection; the first reason counts.
func (n *conn) end(err error) {
	n.mu.Lock()
	if n.err == nil {
		n.err = err
	}
	n.mu.Unlock()
	n.cut()
	n.net.Close()
}

// why is the reason of the end.
func (n *conn) why() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

// write sends a packet, in one part or two.
func (n *conn) write(parts ...[]byte) error {
	n.writing.Lock()
	defer n.writing.Unlock()
	return n.writeLocked(parts...)
}

func (n *conn) writeLocked(parts ...[]byte) error {
	if len(parts) > 1 && len(parts[1]) <= chunk { // one record of TLS, and one packet if it can be
		parts = [][]byte{append(parts[0], parts[1]...)}
	}
	for _, b := range parts {
		for len(b) > 0 {
			_ = n.net.SetWriteDeadline(time.Now().Add(n.timing.answer))
			m, err := n.net.Write(b[:min(len(b), chunk)])
			if err != nil {
				n.end(err) // a part of a packet may have left
				return err
			}
			b = b[m:]
		}
	}
	n.wrote = time.Now()
	return nil
}

// patient reads with a deadline that every byte moves on: a long packet may take its time.
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

// read takes packets until something is wrong, and returns what.
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
					return fmt.Errorf("%w: topic alias %d", errMalformed, d.alias)
				}
			}
			n.take(d.topic, d.payload)
			if d.qos > 0 {
				if err := n.write(appendPacket(nil, kindPuback<<4, binary.BigEndian.AppendUint16(nil, d.id), 0)); err != nil {
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
				err = errors.New("the broker has ended the connection")
			}
			return errors.Join(err, a.err())
		case kindPingresp:
		default:
			return fmt.Errorf("%w: kind %d", errMalformed, p.kind)
		}
	}
}

// answered passes on an answer.
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

// await registers a packet that has to be answered; a message of so many bytes, or 0.
func (n *conn) await(bytes int) (id uint16, answer chan reply, limit time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for taken := true; taken || n.last == 0; { // fewer than maxSlots + 1 are
		n.last++
		_, taken = n.waiting[n.last]
	}
	answer = make(chan reply, 1)
	n.waiting[n.last] = waiting{answer, bytes}
	n.bytes += bytes
	return n.last, answer, n.timing.answer + time.Duration(n.bytes/slowest)*time.Second
}

// result waits for an answer. Without one the connection ends: only then may a message be sent again.
func (n *conn) result(ctx context.Context, answer chan reply, limit time.Duration) (reply, error) {
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

// publish waits until the broker has confirmed a message, which it may throw away after so many seconds. The payload has
// at least one byte.
func (n *conn) publish(ctx context.Context, topic string, expiry uint32, payload []byte) error {
	if longest := n.maxPacket - maxHeader; len(payload) > longest {
		return fmt.Errorf("a message of %d bytes, and the broker takes %d: %w", len(payload), longest, &refusal{code: reasonTooLarge})
	}
	select {
	case n.slots <- struct{}{}:
	case <-n.over.Done():
		return n.why()
	case <-ctx.Done():
		return ctx.Err()
	}
	id, answer, limit := n.await(len(payload))
	if err := n.writeMessage(topic, id, expiry, payload); err != nil {
		return err
	}
	_, err := n.result(ctx, answer, limit)
	return err
}

// writeMessage writes a PUBLISH. A topic that has an alias is not spelled out again.
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
	return n.writeLocked(appendPacket(nil, kindPublish<<4|1<<1, body, len(payload)), payload)
}

// subscribe asks for what is sent on a topic filter, at QoS 1, and for nothing that the broker has retained.
func (n *conn) subscribe(ctx context.Context, filter string) error {
	id, answer, limit := n.await(0)
	body := append(binary.BigEndian.AppendUint16(nil, id), 0)
	body = append(appendText(body, filter), 2<<4|1)
	if err := n.write(appendPacket(nil, kindSubscribe<<4|2, body, 0)); err != nil {
		return err
	}
	a, err := n.result(ctx, answer, limit)
	if err == nil && a.code != 1 {
		err = fmt.Errorf("the broker grants QoS %d, want 1", a.code)
	}
	if err != nil {
		return fmt.Errorf("to read %s: %w", filter, err)
	}
	return nil
}

// ping keeps the connection alive while there is nothing to say.
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

// close says good-bye. The broker keeps the session.
func (n *conn) close() {
	_ = n.write([]byte{kindDisconnect << 4, 0})
	n.end(errLeft)
	<-n.ended
}
