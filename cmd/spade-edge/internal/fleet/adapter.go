package fleet

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/adapter"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// readAdapter returns the adapter that -adapter describes, for a model with the given number of parameters. The
// adapter's base is not set yet; see adapt.
func (o *initOptions) readAdapter(of int) (*adapter.Spec, error) {
	form, path, _ := strings.Cut(o.adapter, ":")
	if form != adapter.Coords && form != adapter.Basis {
		return adapter.Parse(o.adapter, of)
	}
	data, err := fleetfile.ReadFile(path, 4*adapter.Most, "-adapter "+form)
	if err != nil {
		return nil, err
	}
	spec := &adapter.Spec{Form: form, Of: of}
	if form == adapter.Coords {
		if spec.Ranges, spec.Dim, err = adapter.ParseRanges(string(data)); err != nil {
			return nil, err
		}
		return spec, spec.Validate()
	}
	if o.basis, err = cli.ParseNpy(data); err != nil {
		return nil, cli.Usage("-adapter basis:%s: %w", path, err)
	}
	if of < 1 || len(o.basis)%of != 0 {
		return nil, cli.Usage("-adapter basis:%s has %d numbers, want a multiple of %d (the model's parameter count)", path, len(o.basis), of)
	}
	spec.Dim, spec.Basis = len(o.basis)/of, &adapter.File{File: "basis.bin", SHA256: sdk.ModelHash(o.basis)}
	return spec, spec.Validate()
}

// adapt makes the initial model the base of the fleet's adapter. The adapter's own parameters then start at zero.
func (o *initOptions) adapt(p *setup.Problem) {
	f := p.Fleet
	o.base = p.X0
	if o.x0 != "" {
		o.base, f.X0 = f.X0, nil
	}
	brought := ""
	if o.base != nil {
		f.Adapter.Base = &adapter.File{File: "base.bin", SHA256: sdk.ModelHash(o.base)}
		brought = "; keep base.bin with fleet.json"
	}
	if o.basis != nil {
		brought += "; keep basis.bin with fleet.json"
	}
	o.note("%d numbers are trained; the %d parameters follow from them (%s)%s", f.Dim, f.Adapter.Of, f.Adapter.Form, brought)
}

func (o *initOptions) writeAdapter(f *sdk.Fleet, dir string) error {
	if f.Adapter == nil {
		return nil
	}
	for name, x := range map[string][]float32{"base.bin": o.base, "basis.bin": o.basis} {
		if x == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), cli.AppendFloats(nil, x), 0o644); err != nil {
			return err
		}
	}
	_, err := adapter.Open(*f.Adapter, dir)
	return err
}
