# Completes fdlkit in fish. In ~/.config/fish/config.fish:
#
#   fdlkit completion fish | source

function __fdlkit_complete
    set -l program (commandline -opc)[1]
    type -q "$program"; or set program fdlkit
    $program __complete fish (commandline -cp | string collect) 2>/dev/null
end

complete --command fdlkit --no-files --keep-order --arguments '(__fdlkit_complete)'
