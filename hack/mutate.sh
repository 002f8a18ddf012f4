# shellcheck shell=bash
# For scripts that break the control plane in one place at a time, in a copy of the tree, and expect a test to find each of these bugs.
# Such a script sets `tried`, how much the test tries, and defines two functions:
#   run_test runs it in $copy, and fails if it finds something;
#   violation prints what was found, from the output of run_test, and fails if that says nothing of it.
# It calls copy_tree, mutate for each bug, and summary at its end.

wanted=()
known=()
missed=()

# copy_tree PATH... copies files and directories into $copy, which is removed at the end.
copy_tree() {
	copy=$(mktemp -d)
	trap 'rm -rf "$copy"' EXIT
	cp -r --parents "$@" "$copy/"
}

# mutate NAME WHAT FILE EXPRESSION: the Perl expression must change the file.
mutate() {
	local name=$1 what=$2 file=$3 expression=$4 output found
	known+=("$name")
	if ((${#wanted[@]})) && [[ " ${wanted[*]} " != *" $name "* ]]; then
		return
	fi
	cp "$copy/$file" "$copy/original"
	perl -0pi -e "$expression" "$copy/$file"
	if cmp -s "$copy/$file" "$copy/original"; then
		echo "$name: the expression changes nothing in $file; the mutation is out of date" >&2
		missed+=("$name")
	elif output=$(run_test 2>&1); then
		echo "$name: not found in $tried ($what)" >&2
		missed+=("$name")
	elif grep -qE '\[(build|setup) failed\]' <<<"$output"; then
		echo "$name: the mutation does not compile: $output" >&2
		missed+=("$name")
	elif found=$(violation <<<"$output"); then
		echo "$name: found ($what): $found"
	else
		echo "$name: the test fails, but finds no violation: $output" >&2
		missed+=("$name")
	fi
	cp "$copy/original" "$copy/$file"
}

# summary fails if a mutation was missed, or there is none of a name that was asked for.
summary() {
	local name
	for name in "${wanted[@]}"; do
		if [[ " ${known[*]} " != *" $name "* ]]; then
			echo "$name: there is no such mutation; there are: ${known[*]}" >&2
			missed+=("$name")
		fi
	done
	if ((${#missed[@]})); then
		echo "missed: ${missed[*]}" >&2
		return 1
	fi
}
