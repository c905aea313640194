# Runs before a server of the StatefulSet: waits as long as another server is connected to one of the same name, which
# is then the former pod's. nats-server lets both in, but never connects them to each other, so that clients of one
# would not hear clients of the other. $SERVERS are the monitors of all servers; one that does not answer says nothing.
former_is_connected() {
  for server in $SERVERS; do
    timeout 5 wget -q -O - "http://$server/routez" 2>/dev/null | grep -q "\"remote_name\": *\"$HOSTNAME\"" || continue
    echo "$server is still connected to a former $HOSTNAME"
    return 0
  done
  return 1
}
while former_is_connected; do sleep 1; done
