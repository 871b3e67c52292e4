-- One commit of a game: all of it or nothing, and harmless when a client library sends it twice.
--
-- KEYS  state, events, actions, metadata, presence          (one hash tag, so one slot of a cluster)
--       and with an idempotency key: the records of the game's requests
-- ARGV  1 version and nonce of the commit that this one follows, or its version alone; "0": the game must not exist
--       2 the new state                 3 time to live, seconds
--       4 how many events to keep       5 channel to publish on
--       6 the actions, by spaces       7 metadata or "" (only with the first commit)
--       8 the record or ""              9 the records' time to live, seconds
--       10 the record's name or ""      11 the first event's seq
--       12.. the events, in order
-- Returns whether this commit stands (1; 0 when another came first), the time in ms, and the seats present.

local time = redis.call('TIME')
local now_ms = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
local function result(stands)
  return {stands, now_ms, redis.call('ZRANGEBYSCORE', KEYS[5], now_ms, '+inf')}
end

local stored = redis.call('GET', KEYS[1])
if stored == ARGV[2] then
  return result(1) -- this very commit (its nonce is in the state), sent again
end
-- nothing follows what has no version: the mark of a game that is gone, or bytes of no format, or of a newer one
local head = stored and (string.match(stored, '^%d+ (%d+ %S+) ') or 'none') or '0'
if stored and (tonumber(string.match(stored, '^%d+')) or 0) > tonumber(string.match(ARGV[2], '^%d+')) then
  head = 'none'
end
local follows = head == ARGV[1] or string.match(head, '^%d+') == ARGV[1]
if not follows or (ARGV[10] ~= '' and redis.call('HEXISTS', KEYS[6], ARGV[10]) == 1) then
  return result(0)
end

redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
for i = 12, #ARGV do
  local seq = tonumber(ARGV[11]) + i - 12
  redis.call('XADD', KEYS[2], 'MAXLEN', '=', ARGV[4], string.format('%d-0', seq), 'e', ARGV[i])
end
for token in string.gmatch(ARGV[6], '%S+') do
  redis.call('RPUSH', KEYS[3], token)
end
if ARGV[7] ~= '' then
  redis.call('SET', KEYS[4], ARGV[7])
end
for i = 2, 4 do
  redis.call('EXPIRE', KEYS[i], ARGV[3])
end
if ARGV[8] ~= '' then
  redis.call('HSET', KEYS[6], ARGV[10], ARGV[8])
  redis.call('EXPIRE', KEYS[6], ARGV[9])
end
redis.call('PUBLISH', ARGV[5], string.match(ARGV[2], '^%d+ (%d+) '))
return result(1)
