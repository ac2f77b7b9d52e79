#!/bin/sh
# Runs every fuzz target of the project, one after the other, for FUZZTIME each.
# Go fuzzes one target of one package at a time, hence the loop.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${FUZZTIME:-60s}
failed=
count=0
for file in $(find . -name '*_test.go' -not -path './bin/*' | sort); do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		echo "--- $(dirname "$file") $target ($time)"
		count=$((count + 1))
		"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$(dirname "$file")" || failed="$failed $target"
	done
done
if [ -n "$failed" ]; then
	echo "FAIL:$failed; the inputs stand in testdata/fuzz, commit them with the repair"
	exit 1
fi
echo "$count fuzz targets passed"
