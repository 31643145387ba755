package program

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// phi is the standard normal distribution function, by the series x + x^3/3 + x^5/(3*5) + ... times the density.
func phi(x float64) float64 {
	sum, term := 0.0, x
	for i := 1.0; math.Abs(term) > 1e-18 && i < 2000; i += 2 {
		sum += term
		term *= x * x / (i + 2)
	}
	return 0.5 + sum*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
}

// epsilonOf solves delta = Phi(mu/2 - e/mu) - e^e Phi(-mu/2 - e/mu) for e by bisection.
func epsilonOf(mu, delta float64) float64 {
	tail := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 } // the series loses all digits there
	low, high := 0.0, 200.0
	for range 200 {
		e := (low + high) / 2
		if tail(mu/2-e/mu)-math.Exp(e)*tail(-mu/2-e/mu) > delta {
			low = e
		} else {
			high = e
		}
	}
	return high
}

// figure is a row of a report's table, and the length of its bar.
type figure struct{ mu, epsilon, right float64 }

func reportFigures(t *testing.T, page string) (all []figure) {
	t.Helper()
	for _, row := range regexp.MustCompile(`<th scope="row">([^<]+)</th><td>([^<]+)</td><td>([^<]+)</td><td>([^<]+)</td>`).FindAllStringSubmatch(page, -1) {
		var v [3]float64
		for i := range v {
			var err error
			if v[i], err = strconv.ParseFloat(row[2+i], 64); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, figure{v[0], v[1], v[2]})
	}
	return all
}

// Every figure of a report follows from mu and delta by independent formulas in this file, and none is too low.
func TestReportFigures(t *testing.T) {
	for _, unit := range []dpmech.Unit{dpmech.Client, dpmech.Record} {
		n := newNotary(t)
		n.file.Fleet.Privacy.Unit = unit
		if unit == dpmech.Record {
			n.file.Fleet.Records = []int{100, 100, 100}
		}
		if err := os.Remove(n.path("fleet.json")); err != nil {
			t.Fatal(err)
		}
		if err := n.file.Write(n.path("fleet.json")); err != nil {
			t.Fatal(err)
		}
		cert, page := n.certify(t, nil, "c"), n.path("report.html")
		code, out, log := call("privacy", "-verify", cert, "-fleet", n.path("fleet.json"), "-ledger", n.path("ledger.json"), "-report", page)
		if code != cli.ExitDone || !strings.Contains(out, "report: "+page) {
			t.Fatalf("exit code %d\n%s%s", code, out, log)
		}
		text := readFile(t, page)
		list := reportFigures(t, text)
		if len(list) != 1 {
			t.Fatalf("figures %v, want one", list)
		}
		for _, f := range list {
			mu := 2 * math.Sqrt(50) / 8 // fifty releases with clip 1 and sigma 8, under replacement of the data
			if f.mu < mu || f.mu > mu*(1+1e-5) {
				t.Errorf("mu %v, want %v rounded up", f.mu, mu)
			}
			right, epsilon := 100*phi(mu/2), epsilonOf(mu, 1e-5)
			if f.right < right || f.right > right+1e-3 || f.epsilon < epsilon-1e-8 || f.epsilon > epsilon+2e-4 {
				t.Errorf("right %v and epsilon %v, want %v and %v", f.right, f.epsilon, right, epsilon)
			}
			words := fmt.Sprintf("is right at most %.0f times in 100 (everybody else together); by guessing, 50.", math.Ceil(right))
			if !strings.Contains(text, words) || !strings.Contains(strings.Join(strings.Fields(out), " "), words) {
				t.Errorf("no %q in report and text", words)
			}
			if bar := fmt.Sprintf(`width: %.0f%%"></div></div><b>%.0f in 100,`, 2*math.Ceil(right)-100, math.Ceil(right)); !strings.Contains(text, bar) {
				t.Errorf("no bar %q", bar)
			}
		}
		several := unit == dpmech.Record
		if strings.Contains(text, fmt.Sprintf("with 2 records %.0f times", math.Ceil(100*phi(2*math.Sqrt(50)/8)))) != several {
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

// A report does not call unchecked facts verified, escapes everything in a certificate, and overwrites no file.
func TestReportOfStrangers(t *testing.T) {
	n := newNotary(t)
	cert, page := n.certify(t, func(c *dpmech.Certificate) {
		c.ConditionalOn = append(c.ConditionalOn, `<img src=x onerror="alert(1)"> & {words}`)
	}), n.path("report.html")
	if code, out, log := call("privacy", "-verify", cert, "-report", page); code != cli.ExitDone {
		t.Fatalf("exit code %d\n%s%s", code, out, log)
	}
	text := readFile(t, page)
	if strings.Contains(text, "<img") || !strings.Contains(text, "&lt;img") || !strings.Contains(text, "{words}") {
		t.Error("a text of the certificate is part of the page")
	}
	if strings.Contains(text, "Verified and signed") || !strings.Contains(text, "Nothing here shows who wrote") || !strings.Contains(text, "signatures not checked") {
		t.Error("signatures that nobody has checked")
	}
	before := readFile(t, cert)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"already exists: -force overwrites it", []string{"-verify", cert, "-report", cert}},
		{"already exists: -force overwrites it", []string{"-verify", cert, "-report", page}},
		{"-report cannot be combined with -ledger", []string{"-ledger", n.path("ledger.json"), "-report", n.path("x.html")}},
		{"-report is empty", []string{"-verify", cert, "-report", ""}},
	} {
		if code, _, log := call(append([]string{"privacy"}, c.args...)...); code != cli.ExitUsage || !strings.Contains(log, c.want) {
			t.Errorf("%v: exit code %d, %s", c.args, code, log)
		}
	}
	if readFile(t, cert) != before {
		t.Error("the certificate was overwritten")
	}
	if code, _, log := call("privacy", "-verify", cert, "-report", page, "-force"); code != cli.ExitDone {
		t.Errorf("exit code %d, %s", code, log)
	}
	// An invalid certificate gets no report.
	bad := strings.Replace(before, `"sigma": 8`, `"sigma": 9`, 1)
	if err := os.WriteFile(n.path("bad.json"), []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := call("privacy", "-verify", n.path("bad.json"), "-report", n.path("bad.html")); code != cli.ExitFailed {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Stat(n.path("bad.html")); err == nil {
		t.Error("a wrong certificate has a report")
	}
}
