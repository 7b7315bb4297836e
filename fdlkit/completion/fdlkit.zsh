#compdef fdlkit
# Completes fdlkit in zsh. As a file _fdlkit in a folder of $fpath, or, behind
# compinit, in ~/.zshrc:
#
#   source <(fdlkit completion zsh)

_fdlkit() {
  local program=${${(Q)words[1]}/#\~\//$HOME/} line entry
  local -a lines whole part
  local -i shared
  whence -p -- "$program" >/dev/null || program=fdlkit
  lines=("${(@f)$("$program" __complete zsh \
    "${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX" 2>/dev/null)}")
  shared=$(( ${lines[1]:-0} - $#QIPREFIX ))
  (( shared > 0 )) && compset -p $shared
  for line in "${(@)lines[2,-1]}"; do
    entry=${line[2,-1]%%$'\t'*}
    entry=${${entry//\\/\\\\}//:/\\:}
    [[ -n ${line#*$'\t'} ]] && entry+=:${line#*$'\t'}
    if [[ $line == +* ]]; then
      whole+=("$entry")
    else
      part+=("$entry")
    fi
  done
  _describe -V fdlkit whole -- part -S ''
}

if [[ ${funcstack[1]} == _fdlkit ]]; then
  _fdlkit "$@"
else
  compdef _fdlkit fdlkit
fi
