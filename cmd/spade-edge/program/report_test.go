package program

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// TestReportFigures checks that every number in a report follows from mu and delta, and that no number is rounded down.
func TestReportFigures(t *testing.T) {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 } // the standard normal distribution function
	for _, unit := range []dpmech.Unit{dpmech.Client, dpmech.Record, dpmech.Person(4, "pid")} {
		n := newNotary(t, unit)
		cert, page := n.certify(t, nil, "c"), n.path("report.html")
		code, out, log := call("privacy", "-verify", cert, "-fleet", n.path("fleet.json"), "-ledger", n.path("ledger.json"), "-report", page)
		if code != cli.ExitDone || !strings.Contains(out, "report: "+page) {
			t.Fatalf("exit code %d\n%s%s", code, out, log)
		}
		text := readFile(t, page)
		var f [3]float64 // mu, epsilon, and how often an adversary guesses right, in percent
		rows := regexp.MustCompile(`<th scope="row">[^<]+</th><td>([^<]+)</td><td>([^<]+)</td><td>([^<]+)</td>`).FindAllStringSubmatch(text, -1)
		if len(rows) != 1 {
			t.Fatalf("figures %q, want one row", rows)
		}
		if _, err := fmt.Sscan(strings.Join(rows[0][1:], " "), &f[0], &f[1], &f[2]); err != nil {
			t.Fatal(err)
		}
		mu := 2 * math.Sqrt(50) / 8 // fifty releases with clip 1 and sigma 8; replacing the data doubles the sensitivity
		right, epsilon := 100*phi(mu/2), dpmech.GDP.Epsilon(mu*mu/2, 1e-5)
		if f[0] < mu || f[0] > mu*(1+1e-5) || f[2] < right || f[2] > right+1e-3 || f[1] < epsilon-1e-8 || f[1] > epsilon+2e-4 {
			t.Errorf("mu, epsilon and right %v, want %v, %v and %v rounded up", f, mu, epsilon, right)
		}
		words := fmt.Sprintf("is right at most %.0f times in 100 (everybody else together); guessing is right 50 times.", math.Ceil(right))
		if !strings.Contains(text, words) || !strings.Contains(strings.Join(strings.Fields(out), " "), words) {
			t.Errorf("no %q in report and text", words)
		}
		if bar := fmt.Sprintf(`width: %.0f%%"></div></div><b>%.0f in 100,`, 2*math.Ceil(right)-100, math.Ceil(right)); !strings.Contains(text, bar) {
			t.Errorf("no bar %q", bar)
		}
		if unit == dpmech.Person(4, "pid") && (strings.Contains(text+out, "record") || strings.Count(text+out, unit.String()) < 4) {
			t.Errorf("a report for each person names records\n%s%s", out, text)
		}
		several := unit == dpmech.Record
		if strings.Contains(text, fmt.Sprintf("with 2 records %.0f times", math.Ceil(100*phi(mu)))) != several {
			t.Errorf("%v: several records", unit)
		}
		for _, want := range []string{"Verified and signed", "verified: signed with the key", "<li>countersigned by &#34;c&#34;: each holds", "<li>not countersigned by &#34;a&#34;</li>", "timing: when a node sends",
			"spade-edge privacy -verify certificate.json -fleet fleet.json", "50 then, 50 now"} {
			if !strings.Contains(text, want) {
				t.Errorf("%v: no %q", unit, want)
			}
		}
		if regexp.MustCompile(`\{[a-z]+\}|https?://|<script|src=`).MatchString(text) {
			t.Error("something is not filled in, or comes from elsewhere")
		}
	}
}
