# Completes fdlkit in bash. In ~/.bashrc:
#
#   eval "$(fdlkit completion bash)"

_fdlkit() {
  local program=$1 candidate
  [[ $program == '~/'* ]] && program=$HOME/${program:2}
  type -P "$program" >/dev/null || program=fdlkit
  COMPREPLY=()
  while IFS= read -r candidate; do
    COMPREPLY+=("$candidate")
  done < <("$program" __complete bash "${COMP_LINE:0:COMP_POINT}" "${#2}" 2>/dev/null)
}

complete -o nospace -F _fdlkit fdlkit
