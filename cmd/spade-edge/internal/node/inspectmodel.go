package node

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/privacy"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
)

// modelFile says what is in a model file, and whether the certificate in it is right and the model's.
func (r *inspection) modelFile(path string) error {
	m, err := builtin.ReadModel(path)
	if err != nil {
		return cli.AsUsageError(err)
	}
	fleet, sum := hex.EncodeToString(m.Fleet[:]), sdk.ModelHash(m.Weights)
	what := "last release"
	if m.Averaged {
		what = "mean of the releases"
	}
	r.row("release", "%d of %d of run %q by %q, %s", m.Round, m.Rounds, m.Run, m.Member, what)
	r.row("fleet", "hash %s", fleet)
	r.row("model", "%d numbers, sha256 %s", len(m.Weights), sum)
	content := cli.Fields{
		{Key: "run", Value: m.Run}, {Key: "name", Value: m.Member}, {Key: "fleet_hash", Value: fleet}, {Key: "round", Value: m.Round}, {Key: "rounds", Value: m.Rounds},
		{Key: "averaged", Value: m.Averaged}, {Key: "non_private", Value: m.NonPrivate}, {Key: "dim", Value: len(m.Weights)}, {Key: "model_sha256", Value: sum},
		{Key: "predicts", Value: m.Task != nil},
	}
	if t := m.Task; t != nil {
		var columns []string
		for _, c := range t.Columns {
			columns = append(columns, c.Name)
		}
		says := "classes " + strings.Join(t.Classes, ", ")
		if t.Target != nil {
			says = fmt.Sprintf("%q, from %.6g to %.6g", t.Label, t.Target.Low, t.Target.High)
		}
		r.row("task", "%v on %s data fitted on %s", t.Model, t.Source, t.FittedOn)
		r.row("says", "%s", says)
		if columns != nil {
			r.row("columns", "%s", strings.Join(columns, ", "))
		}
		content = append(content, cli.Field{Key: "columns", Value: columns}, cli.Field{Key: "classes", Value: t.Classes})
	} else {
		r.row("task", "none (%s): predict and evaluate refuse it", m.NoTask)
		content = append(content, cli.Field{Key: "no_task", Value: m.NoTask})
	}
	switch {
	case m.NonPrivate:
		r.row("privacy", "NOT PRIVATE: the model may reveal data of its members")
	case m.Certificate == nil:
		r.row("certificate", "none")
	default:
		c, err := dpmech.ParseCertificate(m.Certificate)
		if err == nil {
			err = c.Verify()
		}
		if err == nil && (c.Run != m.Run || c.Fleet != fleet || c.Member != m.Member) {
			err = fmt.Errorf("it is of %q in run %q", c.Member, c.Run)
		}
		content = append(content, cli.Field{Key: "certificate_verified", Value: err == nil})
		if r.fault = privacy.Right(path+": certificate", err); err == nil {
			r.row("certificate", "of %d releases; its numbers are right. Who wrote it, privacy -verify with -fleet shows", c.Rounds)
		} else {
			r.row("certificate", "not good: %v", err)
		}
	}
	r.Any = content
	return nil
}

// npy says what is in a file of numpy, if head begins one, and reports whether it does.
func (r *inspection) npy(path string, head []byte, size int64) (bool, error) {
	if !bytes.HasPrefix(head, []byte("\x93NUMPY\x01\x00")) || len(head) < 10 {
		return false, nil
	}
	r.Kind = "npy file"
	begin := 10 + int(binary.LittleEndian.Uint16(head[8:]))
	header := strings.TrimSpace(string(head[10:min(begin, len(head))]))
	r.row("header", "%s", header)
	content := cli.Fields{{Key: "header", Value: header}, {Key: "bytes", Value: size}}
	if strings.Contains(header, "'<f4'") && begin <= len(head) && (size-int64(begin))%4 == 0 && size <= 1<<30 {
		data, err := os.ReadFile(path)
		if err != nil {
			return true, err
		}
		x := make([]float32, (len(data)-begin)/4)
		for i := range x {
			x[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[begin+4*i:]))
		}
		r.row("model", "%d numbers, model_sha256 %s", len(x), sdk.ModelHash(x))
		r.row("", "numbers alone: -format json of export has the preprocessing as well")
		content = append(content, cli.Field{Key: "numbers", Value: len(x)}, cli.Field{Key: "model_sha256", Value: sdk.ModelHash(x)})
	}
	r.Any = content
	return true, nil
}
