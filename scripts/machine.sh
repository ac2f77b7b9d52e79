#!/bin/sh
# Prints one line that says on what a benchmark ran. Figures are quoted with it.
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
memory=$(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo 2>/dev/null)
load=$(cut -d ' ' -f 1 /proc/loadavg 2>/dev/null)
echo "machine: ${cpu:-unknown CPU}, $(getconf _NPROCESSORS_ONLN) cores, ${memory:-unknown memory}, $(uname -sr), $(${GO:-go} env GOVERSION), load ${load:-unknown}"
