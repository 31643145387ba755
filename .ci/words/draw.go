package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// speaks matches the functions whose string arguments are shown to people.
var speaks = regexp.MustCompile(`\b(Errorf|errors\.New|Usage|refuse|Mismatchf|When|Warn|Info|Error|say)$`)

// find returns the comments and the messages of a Go file. Each comment comes with the line of code below it. Outputs
// of examples do not count as comments. Messages are literals of more than 20 bytes in arguments of functions that
// match speaks. A test file gives no messages, and a generated file gives neither comments nor messages.
func find(path, text string) (comments, messages []string) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return nil, nil
	}
	code := strings.Split(text, "\n")
	for _, c := range file.Comments {
		text, line, below := c.Text(), files.Position(c.Pos()).Line, files.Position(c.End()).Line
		if text != "" && strings.Fields(text)[0] != "Output:" && strings.HasPrefix(strings.TrimSpace(code[line-1]), "//") {
			comments = append(comments, fmt.Sprintf("%s:%d: comment\n%s\t| %s\n", path, line, text, strings.TrimSpace(code[below])))
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && speaks.MatchString(types.ExprString(call.Fun)) && !strings.HasSuffix(path, "_test.go") {
			for _, arg := range call.Args {
				if message := literal(arg); len(message) > 20 {
					messages = append(messages, fmt.Sprintf("%s:%d: message\n%s\n", path, files.Position(arg.Pos()).Line, message))
				}
			}
		}
		return true
	})
	return comments, messages
}

// literal returns the text of a string literal, or of a sum of string literals. For any other expression it returns "".
func literal(e ast.Expr) (text string) {
	if sum, ok := e.(*ast.BinaryExpr); ok {
		return literal(sum.X) + literal(sum.Y)
	} else if basic, ok := e.(*ast.BasicLit); ok && basic.Kind == token.STRING {
		text, _ = strconv.Unquote(basic.Value)
	}
	return text
}

// draw returns n elements of all in random order. The same seed gives the same result.
func draw(all []string, n int, seed uint64) []string {
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(n, len(all))]
}
