package compare

import (
	"context"
	"fmt"

	"github.com/spade-dfl/spade-edge/examples/paper/data"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/sdk/graph"
)

type contender struct {
	name, sees string
	method     method.Method // nil for a row that the function hand fills
	searched   bool          // whether a search chooses the settings
	average    bool          // whether the mean of all clients' models is scored
	trusted    bool          // whether a server, or whoever holds all data, sees more than the noise protects
	hand       func(ctx context.Context, s *stage) ([][]float32, error)
}

const (
	nobody = "nobody is trusted"
	own    = "SPADE-DFL"
)

// contenders returns the methods of the table, one per row. If private is false, all methods run without noise.
func contenders(private bool, colluders int) []contender {
	list := []contender{
		{name: "always the most frequent class", hand: majority},
		{name: "alone", sees: "nothing is sent", hand: alone},
		{name: own, sees: nobody, method: method.Suggested{}},
	}
	if colluders > 0 && private {
		m := method.Suggested{Colluders: colluders}
		list = append(list, contender{name: m.Name(), sees: fmt.Sprintf("members that are not trusted: at most %d", colluders), method: m, trusted: true})
	}
	list = append(list,
		contender{name: "FedAvg", sees: "a server sees each client's model; " + nobody, method: method.DPFedAvg{}, searched: true},
		contender{name: "1P-DSG", sees: nobody, method: method.OnePointDSG{}, searched: true, average: true},
		contender{name: "1P-DSGT", sees: nobody, method: method.OnePointDSGT{}, searched: true, average: true},
		contender{name: "LT-ADMM-DP", sees: nobody, method: method.LTADMMDP{}, searched: true, average: true},
	)
	if private {
		list = append(list, contender{name: "FedAvg, trusted server", sees: "the server sees all updates without noise",
			method: method.DPFedAvg{Central: true}, searched: true, trusted: true})
	}
	list = append(list, contender{name: "pooled", sees: "one place has all raw data", hand: pooled, trusted: true})
	if !private {
		for i := range list {
			if list[i].method != nil {
				list[i].sees, list[i].trusted = "no noise: what is sent may reveal data", false
			}
		}
	}
	return list
}

func majority(context.Context, *stage) ([][]float32, error) { return nil, nil }

// alone trains each client without noise on its own data, as a fleet of one member, and returns one model per client.
func alone(ctx context.Context, s *stage) ([][]float32, error) {
	one, err := graph.New(1, nil)
	if err != nil {
		return nil, err
	}
	var all [][]float32
	for i := range s.world.Clients {
		w := *s.world
		w.Clients, w.Graph, w.Privacy = w.Clients[i:i+1], one, nil
		models, _, err := method.Last(ctx, method.Suggested{}, &w, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, models...)
	}
	return all, nil
}

// pooled trains with the exact gradient on all data in one place. Its accuracy serves as a ceiling for all methods.
func pooled(_ context.Context, s *stage) ([][]float32, error) {
	return [][]float32{data.CeilingModel(s.train, true)}, nil
}
