// Command picture draws .github/demo.svg for the README. It shows the mean accuracy of the demo's nodes in three
// cases: if each node trains alone, if they train together without noise, and if they train together with epsilon 1 for
// each record. The command runs the demo with and without noise, each with seeds 1 to 20, in about two minutes:
//
//	go run ./.ci/picture
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

const seeds = 20

func main() {
	log.SetFlags(0)
	dir, err := os.MkdirTemp("", "picture")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "spade-edge")
	if out, err := exec.Command("go", "build", "-o", program, "./cmd/spade-edge").CombinedOutput(); err != nil {
		log.Fatalf("go build: %v\n%s", err, out)
	}
	var alone, together, private, majority float64
	for seed := 1; seed <= seeds; seed++ {
		bare, noisy := demo(program, seed, "-non-private"), demo(program, seed, "-epsilon", "1")
		alone += noisy.Alone / seeds
		majority += noisy.Constant / seeds
		together += bare.Mean / seeds
		private += noisy.Mean / seeds
	}
	fmt.Printf("alone %.1f, together %.1f, epsilon 1 %.1f, majority %.1f\n", alone, together, private, majority)
	svg := draw([]bar{
		{"each clinic alone, without noise", alone, "#9aa5b1"},
		{"together, without noise", together, "#4c8bbf"},
		{"together, epsilon 1 for each patient", private, "#2f6f4f"},
	}, majority)
	if err := os.WriteFile(".github/demo.svg", []byte(svg), 0o644); err != nil {
		log.Fatal(err)
	}
}

// result is the part of the demo's score that the picture shows.
type result struct {
	Mean     float64 `json:"mean"`
	Alone    float64 `json:"alone"`
	Constant float64 `json:"constant"`
}

func demo(program string, seed int, flags ...string) (r result) {
	cmd := exec.Command(program, append([]string{"demo", "-json", "-seed", strconv.Itoa(seed)}, flags...)...)
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &struct{ Score *result }{&r})
	}
	if err != nil || r.Mean == 0 || r.Alone == 0 || r.Constant == 0 {
		log.Fatalf("%v: %v, %+v", cmd.Args, err, r)
	}
	return r
}

// bar is one bar of the chart: a label, a percentage and a color.
type bar struct {
	label   string
	percent float64
	color   string
}

// draw returns an SVG with a horizontal bar for each number and a dashed line at the accuracy of the majority class.
func draw(bars []bar, majority float64) string {
	const width, left, right, top, height, gap = 720, 270, 70, 44, 34, 14
	x := func(percent float64) float64 { return left + percent/100*(width-left-right) }
	bottom := top + len(bars)*(height+gap)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="14">`+"\n",
		width, bottom+34)
	fmt.Fprintf(&b, "<title>Accuracy of eight clinics in the demo, mean of %d seeds</title>\n", seeds)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="6" fill="#ffffff"/>`+"\n")
	fmt.Fprintf(&b, `<text x="16" y="26" fill="#1f2933" font-weight="bold">Eight clinics: accuracy on new patients, mean of %d seeds</text>`+"\n", seeds)
	for i, each := range bars {
		y := top + i*(height+gap)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end" fill="#1f2933">%s</text>`+"\n", left-12, y+22, each.label)
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", left, y, x(each.percent)-left, height, each.color)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" fill="#1f2933">%.1f %%</text>`+"\n", x(each.percent)+8, y+22, each.percent)
	}
	fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#b44" stroke-dasharray="4 4"/>`+"\n", x(majority), x(majority), top-6, bottom)
	fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle" fill="#b44">always the most frequent outcome: %.1f %%</text>`+"\n",
		x(majority), bottom+16, majority)
	b.WriteString("</svg>\n")
	return b.String()
}
