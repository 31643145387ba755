package sdk

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Certificate bounds what the node's releases leaked or, with Config.Ledger, what all runs on the node's data leaked.
// The certificate is signed if Config.Key is set. Certificate fails if the run is not private.
func (n *Node) Certificate() (*certificate.Certificate, error) {
	if n.account == nil {
		return nil, errors.New("sdk: no certificate: the fleet is NOT PRIVATE, so the messages of its members may reveal private data")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var lifetime *certificate.Lifetime
	if n.cfg.Ledger != nil {
		lifetime = n.cfg.Ledger.Lifetime(n.fleet.Privacy.Delta)
	}
	n.account.mu.Lock()
	c, err := certificate.New(n.about(), n.fleet.Privacy.Delta, n.account.spends, n.account.limit, lifetime)
	n.account.mu.Unlock()
	if err != nil {
		return nil, err
	}
	for _, e := range n.public.Evidence {
		if e.Member == n.cfg.Name {
			c.NotCovered = append(c.NotCovered, fmt.Sprintf("a second release of round %d that this member's key signed; "+
				"its neighbors hold evidence of it", e.Round))
		}
	}
	if n.trust.Signing() {
		err = signed.SealCertificate(c, n.cfg.Key, n.public.Head, n.public.Countersigned)
	}
	return c, err
}

// about returns the part of the certificate that describes the run. The caller has locked n.mu.
func (n *Node) about() certificate.About {
	conditions := slices.Clone(n.cfg.ConditionalOn)
	if changed := n.data.String(); changed != "" {
		conditions = append(conditions, changed)
	}
	for _, o := range n.public.Ledgers { // none without a ledger
		conditions = append(conditions, o.String())
	}
	if n.public.Full() {
		conditions = append(conditions, "neighbors may know of further ledgers of this member: there was no room to name more")
	}
	about := certificate.About{
		RunID:     n.account.run,
		Simulated: n.cfg.Noise != nil || n.cfg.Secret != nil,
		Mixing:    n.fleet.Method.Mixing, Cooldown: n.fleet.Method.Cooldown,
		ConditionalOn: conditions, Members: n.fleet.Members, Began: n.began,
		Ended: max(n.began, n.made), // the clock may have been set back
	}
	if f := n.fleet; f.Records != nil {
		about.Units = f.Records[n.peer(n.cfg.Name)]
	}
	return about
}
