# Part of run: the packages of package.json. An agent that npm cannot install is left out, and the others are tried.

# npm_install [PACKAGE@VERSION]: without one, what package.json in the directory names.
npm_install() {
  (cd "$AGENT_PEERS" && HOME=$scratch/home npm install --no-audit --no-fund --no-package-lock --ignore-scripts "$@") >"$scratch/npm.log" 2>&1
}

# The reason of npm for each package that it could not install.
declare -A not_installed=()

# Fills AGENT_PEERS: all at once, or one by one if that fails.
install_peers() {
  local package version
  cp "$here/package.json" "$AGENT_PEERS"
  npm_install && return
  echo '{"private": true, "type": "module"}' >"$AGENT_PEERS/package.json"
  while read -r package version; do
    npm_install "$package@$version" || not_installed[$package]=$(grep -m1 -i error "$scratch/npm.log")
  done < <(sed -n 's/^ *"\(.*\)": "\([0-9][^"]*\)",\?$/\1 \2/p' "$here/package.json")
}

# is_installed PACKAGE WHAT: prints that WHAT is skipped if it is not.
is_installed() {
  [[ -d $AGENT_PEERS/node_modules/$1 ]] && return
  echo "SKIP agents: $2: npm could not install $1: ${not_installed[$1]-AGENT_PEERS lacks it}"
  return 1
}
