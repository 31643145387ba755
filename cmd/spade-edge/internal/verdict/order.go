package verdict

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

const (
	backwards = 0.4 // an AUC of a released model on own rows below which these are reported
	fewRows   = 20  // the minimum number of rows of each class
)

// Backwards says so if a released model, named by which, ranks the own rows of a node with two classes the wrong way round: yes and no may
// be swapped there. It returns "" otherwise. The text comes from the data and must stay on the device.
func Backwards(source *fleetfile.Source, model []float32, which string) string {
	own, ours := source.Oracle.(*task.Model)
	if !ours || own.Data().Classes != 2 || own.Data().Target != nil {
		return ""
	}
	rows := readable(own.Data())
	ones := 0
	for _, y := range rows.Y {
		ones += y
	}
	if min(ones, rows.Len()-ones) < fewRows {
		return ""
	}
	m, err := own.On(rows).Judge(model)
	if err != nil || m.Binary == nil || m.Binary.AUC == nil || m.Binary.AUC.Value >= backwards {
		return ""
	}
	return fmt.Sprintf("%s ranks this device's %d rows the wrong way round (AUC %.2f, 0.5 is chance): check whether %q and %q are "+
		"swapped in its file", which, rows.Len(), m.Binary.AUC.Value, rows.ClassNames[0], rows.ClassNames[1])
}
