# shellcheck shell=bash disable=SC2034 # used by the sourcing script
# Sourced by fleet_*.sh. Provides a temporary working directory, which is removed at exit with all
# started processes; a broker; and queries of a store and the clock. Scripts with more to clean up
# redefine clean_more. Expects absolute paths of arguments.

work=$(mktemp -d)
cd "$work"
export XDG_DATA_HOME=$work/data XDG_CONFIG_HOME=$work/config
declare -A pids=() # by name, of what is known by one
others=()
clean_more() { :; }
clean() {
  kill -9 "${pids[@]}" "${others[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  clean_more
  cd /
  rm -rf "$work"
}
trap clean EXIT

# Starts a broker for this script: $url, and pids[server].
run_broker() {
  local port=$((20000 + RANDOM % 20000))
  url=nats://127.0.0.1:$port
  /usr/sbin/nats-server -a 127.0.0.1 -p "$port" -js -sd "$work/store" >server.log 2>&1 &
  pids[server]=$!
  for _ in $(seq 100); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return
    sleep 0.1
  done
  echo "the broker does not start:"
  tail -n 3 server.log
  exit 1
}

sum() { sqlite3 -readonly "$1" "$2"; } # STORE QUERY: one value
now() { date +%s.%N; }
since() { echo "$(now) - $1" | bc; }
done_trials() { sum "$1" 'SELECT count(*) FROM trial WHERE attempt = 0' 2>/dev/null || echo 0; } # STORE
