package verdict

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
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
	var of *score.Estimate
	measure := "AUC"
	if rows.Horizon != nil {
		measure = "C-index"
		if m, err := own.On(rows).Survival(model, nil); err == nil {
			of = m.CIndex
		}
	} else if m, err := own.On(rows).Judge(model); err == nil && m.Binary != nil {
		of = m.Binary.AUC
	}
	if of == nil || of.Value >= backwards {
		return ""
	}
	return fmt.Sprintf("%s ranks this device's %d rows the wrong way round (%s %.2f, 0.5 is chance): check whether %q and %q are "+
		"swapped in its file", which, rows.Len(), measure, of.Value, rows.ClassNames[0], rows.ClassNames[1])
}
