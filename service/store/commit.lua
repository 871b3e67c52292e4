-- One commit of a game: all of it or nothing, and harmless when a client library sends it twice.
--
-- KEYS  state, events, actions, metadata          (one hash tag, so one slot of a cluster)
--       and with an idempotency key: the record of the request
-- ARGV  1 the version this commit follows (0: the game must not exist)
--       2 the new state                 3 time to live, seconds
--       4 how many events to keep       5 channel to publish on
--       6 the action's token or ""      7 metadata or "" (only with the first commit)
--       8 the record or ""              9 its time to live, seconds
--       10 the first event's seq        11.. the events, in order
-- Returns 1 when this commit stands, 0 when another came first.

local stored = redis.call('GET', KEYS[1])
if stored == ARGV[2] then
  return 1 -- this very commit (its nonce is in the state), sent again
end
local version = stored and string.match(stored, '^%d+ (%d+) ') or '0'
if version ~= ARGV[1] then
  return 0
end

redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
for i = 11, #ARGV do
  local seq = tonumber(ARGV[10]) + i - 11
  redis.call('XADD', KEYS[2], 'MAXLEN', '=', ARGV[4], string.format('%d-0', seq), 'e', ARGV[i])
end
if ARGV[6] ~= '' then
  redis.call('RPUSH', KEYS[3], ARGV[6])
end
if ARGV[7] ~= '' then
  redis.call('SET', KEYS[4], ARGV[7])
end
for i = 2, 4 do
  redis.call('EXPIRE', KEYS[i], ARGV[3])
end
if ARGV[8] ~= '' then
  redis.call('SET', KEYS[5], ARGV[8], 'EX', ARGV[9])
end
redis.call('PUBLISH', ARGV[5], string.format('%d', tonumber(version) + 1))
return 1
