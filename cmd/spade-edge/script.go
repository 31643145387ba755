package main

import (
	"fmt"
	"strings"
)

// script is a shell's script in the making.
type script struct{ strings.Builder }

func (w *script) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// literal puts a text between single quotes, in a form that all three shells take.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" }

// flagList joins the names of the flags that ok picks, each behind a dash.
func (c completable) flagList(sep string, ok func(f flagWord) bool) string {
	var all []string
	for _, f := range c.flags {
		if ok(f) {
			all = append(all, "-"+f.name)
		}
	}
	return strings.Join(all, sep)
}

// bash writes a function that looks at the line itself: for bash, a colon or an equals sign begins a new word.
func (w *script) bash(all []completable) {
	w.line(`# bash completion of spade-edge, made by "spade-edge completion bash"

_spade_edge() {
	local line=${COMP_LINE:0:COMP_POINT} cur flag flags= values= place= IFS=$' \t\n'
	local -a words
	read -a words <<<"$line"
	[[ $line != *[[:space:]] ]] || words+=('')
	cur=${words[${#words[@]}-1]} flag=${words[${#words[@]}-2]}
	COMPREPLY=()
	if [ ${#words[@]} -le 2 ]; then`)
	var names []string
	for _, c := range all {
		names = append(names, c.name)
	}
	w.line(`		COMPREPLY=($(compgen -W %s -- "$cur"))
		return
	fi
	if [[ $cur == -*=* ]]; then
		flag=${cur%%%%=*} cur=${cur#*=}
	elif [[ $cur == -* ]]; then
		flag=
	fi
	[[ $flag != --* ]] || flag=${flag#-}
	case ${words[1]} in`, literal(strings.Join(names, " ")))
	for _, c := range all {
		w.line("\t%s)", c.name)
		w.line("\t\tflags=%s", literal(c.flagList(" ", func(flagWord) bool { return true })))
		w.line("\t\tplace=%s values=%s", literal(c.place), literal(strings.Join(c.words, " ")))
		if len(c.flags) > 0 {
			w.line("\t\tcase $flag in")
			for _, f := range c.flags {
				if f.words != nil {
					w.line("\t\t-%s) flags= place= values=%s ;;", f.name, literal(strings.Join(f.words, " ")))
				}
			}
			if files := c.flagList("|", func(f flagWord) bool { return f.file }); files != "" {
				w.line("\t\t%s) flags= place=file values= ;;", files)
			}
			if others := c.flagList("|", func(f flagWord) bool { return !f.alone && !f.file && f.words == nil }); others != "" {
				w.line("\t\t%s) return ;;", others)
			}
			w.line("\t\tesac")
		}
		w.line("\t\t;;")
	}
	w.line(`	esac
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$flags" -- "$cur"))
		return
	fi
	if [[ -n $values && $cur =~ ^(%s): ]]; then
		cur=${cur#*:} place=file values=
	fi
	if [ -n "$values" ]; then
		COMPREPLY=($(compgen -W "$values" -- "$cur"))
		[[ ${COMPREPLY[0]} != *: ]] || compopt -o nospace 2>/dev/null
		[[ $cur != *:* || $COMP_WORDBREAKS != *:* ]] || COMPREPLY=("${COMPREPLY[@]#"${cur%%"${cur##*:}"}"}")
		return
	fi
	IFS=$'\n'
	case $place in
	file) COMPREPLY=($(compgen -f -- "$cur")) ;;
	folder) COMPREPLY=($(compgen -d -- "$cur")) ;;
	esac
	[ -z "$place" ] || compopt -o filenames 2>/dev/null
}

complete -F _spade_edge spade-edge`, pathWords)
}

// zsh writes a function for its completion system.
func (w *script) zsh(all []completable) {
	w.line(`#compdef spade-edge
# zsh completion of spade-edge, made by "spade-edge completion zsh"

_spade_edge_words() {
	if compset -P '(%s):'; then
		_files
		return
	fi
	local -a whole begun
	whole=(${@:#*:}) begun=(${(M)@:#*:})
	compadd -- $whole
	compadd -S '' -- $begun
}

_spade_edge() {
	if (( CURRENT == 2 )); then
		local -a names
		names=(`, pathWords)
	for _, c := range all {
		w.line("\t\t\t%s", literal(c.name+":"+c.short))
	}
	w.line("\t\t)\n\t\t_describe command names\n\t\treturn\n\tfi\n\tlocal name=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $name in")
	escape := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `:`, `\:`).Replace
	for _, c := range all {
		w.line("\t%s)\n\t\t_arguments \\", c.name)
		for _, f := range c.flags {
			spec := "-" + f.name
			if f.alone {
				spec += "[" + escape(f.about) + "]"
			} else {
				spec += "=[" + escape(f.about) + "]:value:"
				switch {
				case f.words != nil:
					spec += " _spade_edge_words " + escape(strings.Join(f.words, " "))
				case f.file:
					spec += "_files"
				default:
					spec += " "
				}
			}
			w.line("\t\t\t%s \\", literal(spec))
		}
		switch {
		case c.words != nil:
			w.line("\t\t\t%s ;;", literal("1:word:("+strings.Join(c.words, " ")+")"))
		case c.place == "folder":
			w.line("\t\t\t'1:folder:_files -/' ;;")
		case c.place == "file":
			w.line("\t\t\t'1:file:_files' ;;")
		default:
			w.line("\t\t\t&& return ;;")
		}
	}
	w.line(`	esac
}

if [[ $funcstack[1] == _spade-edge ]]; then # it was found in a folder of $fpath
	_spade_edge "$@"
else
	compdef _spade_edge spade-edge
fi`)
}

// fish writes a rule for each flag.
func (w *script) fish(all []completable) {
	w.line(`# fish completion of spade-edge, made by "spade-edge completion fish"

function __spade_edge_first
    test (count (commandline -opc)) -eq 1
end

function __spade_edge_in
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $argv[1]
end

function __spade_edge_words
    set -l cur (commandline -ct | string replace -r '^-[^=]*=' '')
    if set -l kind (string match -r '^(?:%s):' -- $cur)
        for path in (__fish_complete_path (string sub -s (math 1 + (string length -- $kind)) -- $cur))
            echo $kind$path
        end
        return
    end
    string join \n -- $argv
end

complete -c spade-edge -f`, pathWords)
	for _, c := range all {
		w.line("complete -c spade-edge -n __spade_edge_first -a %s -d %s", c.name, literal(c.short))
	}
	for _, c := range all {
		in := literal("__spade_edge_in " + c.name)
		for _, f := range c.flags {
			rest := ""
			switch {
			case f.words != nil:
				rest = " -x -a " + literal("(__spade_edge_words "+strings.Join(f.words, " ")+")")
			case f.file:
				rest = " -r -F"
			case !f.alone:
				rest = " -x"
			}
			w.line("complete -c spade-edge -n %s -o %s%s -d %s", in, f.name, rest, literal(f.about))
		}
		switch {
		case c.words != nil:
			w.line("complete -c spade-edge -n %s -a %s", in, literal(strings.Join(c.words, " ")))
		case c.place == "folder":
			w.line("complete -c spade-edge -n %s -a '(__fish_complete_directories (commandline -ct))'", in)
		case c.place == "file":
			w.line("complete -c spade-edge -n %s -F", in)
		}
	}
}
